"""The project of the benchmark with tenants: the queue, the tenancy, and nothing else."""

from typing import Any

from scripts.bench.project.settings import *  # noqa: F403 - a settings module is made this way
from scripts.bench.project.settings import DATABASES
from scripts.bench.project.settings import JOBQUEUE as _GIVEN

DATABASES["default"]["ENGINE"] = "dms_project.tenancy.postgresql"
DATABASE_ROUTERS = ["dms_project.tenancy.routers.TenancyRouter"]
TENANCY_PUBLIC_APPS = ["tenancy"]
TENANCY_TENANT_APPS: list[str] = []
INSTALLED_APPS = [
    "dms_project.tenancy",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "jobqueue",
    "jobqueue.tenants",
    "scripts.bench.project",
]
MIDDLEWARE = ["dms_project.tenancy.middleware.TenantMiddleware"]
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "KEY_FUNCTION": "dms_project.tenancy.caches.cache_key",
    }
}
ROOT_URLCONF = "scripts.bench.tenants.settings"
urlpatterns: list[Any] = []
DMS_OPERATORS_HOST = "localhost"
JOBQUEUE = {
    "TENANTS": "dms_project.tenancy.fleet",
    "LEDGER": "jobqueue.tenants.ledger.WakeupLedger",
    "SCHEDULER": "jobqueue.tenants.scheduler.FairShares",
} | _GIVEN
