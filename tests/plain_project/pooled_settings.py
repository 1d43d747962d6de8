"""The same project where a pooler in transaction mode stands before PostgreSQL."""

import os
from datetime import timedelta

from tests.plain_project.settings import *  # noqa: F403 - a settings module is made this way

JOBQUEUE = {
    "SIGN_OF_LIFE_GRACE": None,
    "POLL_INTERVAL": timedelta(seconds=0.1),
    "STALE_LOCK_AFTER": timedelta(seconds=float(os.environ["JOBQUEUE_TEST_STALE_LOCK_AFTER"])),
}
