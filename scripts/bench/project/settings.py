"""The least that a project with the queue needs. What a measurement varies comes from the environment."""

import json
import os

from scripts.bench import libpq

SECRET_KEY = "a project for benchmarks"  # noqa: S105 - it serves nobody
USE_TZ = True
DATABASES = {"default": libpq.django_database()}
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "jobqueue", "scripts.bench.project"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
JOBQUEUE = json.loads(os.environ.get("BENCH_JOBQUEUE", "{}"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("BENCH_LOG_LEVEL", "INFO")},
}
