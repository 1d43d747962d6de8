"""The test settings with the shelves, for programs that a test starts on a database of their own."""

from typing import Any

from tests.settings import *  # noqa: F403 - a settings module is made this way

ROOT_URLCONF = "tests.tenancy.fleet_settings"  # no views: each of many programs would load them for its checks
urlpatterns: list[Any] = []
INSTALLED_APPS = [*INSTALLED_APPS, "tests.tenancy.shelves"]  # noqa: F405
TENANCY_TENANT_APPS = [*TENANCY_TENANT_APPS, "shelves"]  # noqa: F405
