"""The queue in a Django project without tenants, on Django's own PostgreSQL backend."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from tests.jobqueue.workers import ROOT
from tests.testjobs import ledger

Run = Callable[..., str]

MIGRATE_AND_ENQUEUE = """
import django
django.setup()
from django.core.management import call_command
from jobqueue.queue import JobSpec, Queue
call_command("migrate", verbosity=0)
call_command("check", databases=["default"], fail_level="WARNING", verbosity=0)
jobs = Queue().enqueue_many([JobSpec("test.ok", {"number": number}) for number in range(5)])
jobs.append(Queue().enqueue("test.isolated", {"a": 1}))
print(*[job.pk for job in jobs])
"""


@pytest.fixture
def url(database_url: str) -> Iterator[str]:
    """An empty database beside the test database."""
    name = f"{connection.settings_dict['NAME']}_plain"
    server = database_url.rpartition("/")[0]
    with psycopg.connect(database_url, autocommit=True) as session:
        session.execute(f"DROP DATABASE IF EXISTS {name}")
        session.execute(f"CREATE DATABASE {name}")
        yield f"{server}/{name}"
        session.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def run(url: str, tmp_path: Path) -> Run:
    """Run Python with these arguments in the plain project, and return what it prints."""
    environment = os.environ | {
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "tests.plain_project.settings",
        ledger.VARIABLE: str(tmp_path / "ledger"),
        "JOBQUEUE_TEST_ISOLATED": "yes",
    }

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT, env=environment, timeout=60, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


def test_a_project_without_tenants_migrates_works_and_goes_back(run: Run, url: str, tmp_path: Path) -> None:
    ids = [int(pk) for pk in run("-c", MIGRATE_AND_ENQUEUE).splitlines()[-1].split()]
    output = run("manage.py", "runworker", "--drain", "--name", "plain")

    assert "tenant=" not in output
    with psycopg.connect(url) as session:
        rows = session.execute("SELECT id, status, attempts FROM public.processing_jobs ORDER BY id").fetchall()
        assert rows[:6] == [(pk, "succeeded", 1) for pk in ids]
        isolated = session.execute("SELECT result FROM processing_jobs WHERE job_type = 'test.isolated'").fetchone()
        assert isolated is not None
        assert (isolated[0]["payload"], isolated[0]["held"]) == ({"a": 1}, True)
    started = ledger.read(tmp_path / "ledger", "start")
    assert sorted((entry["job"], entry["schema"]) for entry in started) == [(pk, "public") for pk in ids]

    run("manage.py", "migrate", "jobqueue", "zero", "--verbosity", "0")
    with psycopg.connect(url) as session:
        left = session.execute(
            "SELECT to_regclass('processing_jobs'), count(*) FROM django_migrations WHERE app = 'jobqueue'"
        )
        assert left.fetchone() == (None, 0)
