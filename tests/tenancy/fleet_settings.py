"""The test settings with the shelves, for programs that a test starts on a database of their own."""

from tests.settings import *  # noqa: F403 - a settings module is made this way

INSTALLED_APPS = [*INSTALLED_APPS, "tests.tenancy.shelves"]  # noqa: F405
TENANCY_TENANT_APPS = [*TENANCY_TENANT_APPS, "shelves"]  # noqa: F405
