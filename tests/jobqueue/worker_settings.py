"""What worker processes started by tests run with: the apps that jobs need, and short durations."""

import os
from datetime import timedelta
from typing import Any

from tests.settings import *  # noqa: F403 - a settings module is made this way
from tests.settings import JOBQUEUE as _BASE

if "JOBQUEUE_TEST_TASKS" not in os.environ:
    TASKS: dict[str, Any] = {}  # which costs each process the backport of Django's task API

INSTALLED_APPS = [
    "dms_project.tenancy",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "jobqueue",
    "jobqueue.tenants",
    "tests.testjobs",
]
TENANCY_TENANT_APPS: list[str] = []
ROOT_URLCONF = "tests.jobqueue.worker_settings"
urlpatterns: list[Any] = []

# Seconds by the names of settings.JOBQUEUE, e.g. JOBQUEUE_TEST_STALE_LOCK_AFTER=1.5
JOBQUEUE: dict[str, Any] = _BASE | {
    name.removeprefix("JOBQUEUE_TEST_"): timedelta(seconds=float(value))
    for name, value in os.environ.items()
    if name.startswith("JOBQUEUE_TEST_") and name.endswith(("_AFTER", "_GRACE", "_INTERVAL", "_TIMEOUT"))
}
if "JOBQUEUE_TEST_LISTEN" in os.environ:
    JOBQUEUE["LISTEN"] = os.environ["JOBQUEUE_TEST_LISTEN"] == "yes"

if "JOBQUEUE_TEST_SPANS" in os.environ:  # a file
    from tests.testjobs.spans import write_spans

    write_spans(os.environ["JOBQUEUE_TEST_SPANS"])
    JOBQUEUE["TRACING"] = True
