"""The least that a project with the queue needs."""

import os

import dj_database_url

SECRET_KEY = "a project for tests"
USE_TZ = True
DATABASES = {"default": dj_database_url.config()}
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "jobqueue",
    "tests.testjobs",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("LOG_LEVEL", "INFO")},
}
