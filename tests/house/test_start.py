"""What a program loads when it starts: time and memory that each of its processes costs."""

import os
import subprocess
import sys

from tests.house.clone import TREE

DRAIN = """
import sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", "runworker", "--drain"])
print(*sys.modules)
"""
OF_REQUESTS_ALONE = {"dms_project.urls", "dms_project.api", "documents.api", "ninja", "pydantic", "gunicorn"}


def test_a_worker_loads_nothing_that_only_requests_need(committed_db: None, database_url: str) -> None:
    environment = os.environ | {"DATABASE_URL": database_url, "DJANGO_SETTINGS_MODULE": "dms_project.settings"}
    drained = subprocess.run(
        [sys.executable, "-c", DRAIN], cwd=TREE, env=environment, capture_output=True, text=True, timeout=60
    )

    assert drained.returncode == 0, drained.stderr
    loaded = set(drained.stdout.split())
    assert "documents.jobs" in loaded
    assert loaded & OF_REQUESTS_ALONE == set()
