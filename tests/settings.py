"""The project's settings, for tests: fast password hashes, the test server's database."""

import os

os.environ.setdefault("DJANGO_DEBUG", "true")
os.environ.setdefault("DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")

from dms_project.settings import *  # noqa: F403 - a settings module is made this way

# Recognising text takes seconds: the tests that want it switch it on.
DMS_OCR_LANGUAGES = ""
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
INSTALLED_APPS = [*INSTALLED_APPS, "tests.testjobs"]  # noqa: F405 - handlers that work, sleep, raise, die and leave a mess
TASKS = {"default": {"BACKEND": "jobqueue.backend.PostgresBackend", "QUEUES": []}}
