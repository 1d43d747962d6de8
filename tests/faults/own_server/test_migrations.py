"""O12: a migration must not wait long behind somebody who reads, since all others would wait behind it."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from dms_project.tenancy import use
from jobqueue.queue import Queue
from tests.faults.own_server.server import OwnServer
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import ROOT, BothTenants, Twins, environment

pytestmark = pytest.mark.long


class Migrate:
    """``manage.py migrate`` on the server of the test."""

    def __init__(self, both: BothTenants, server: OwnServer) -> None:
        self._environment = environment(server.url, both.ledger_file)

    def __call__(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", "migrate", *arguments],
            cwd=ROOT, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip


@pytest.fixture
def migrate(both: BothTenants, server: OwnServer) -> Iterator[Migrate]:
    migrate = Migrate(both, server)
    yield migrate
    assert migrate().wait(60) == 0  # the server is used by others, too


def test_a_migration_that_would_wait_behind_a_reader_ends_soon_and_can_be_repeated(
    both: BothTenants, start: Start, server: OwnServer, migrate: Migrate
) -> None:
    assert migrate("jobqueue", "0001", "--tenant", "acme").wait(60) == 0
    worker = start()
    with use("globex"):
        Twins({"globex": Queue().enqueue("test.ok", {}).pk}).become("succeeded")

    with server.connect() as reader, reader.transaction():
        reader.execute("SELECT count(*) FROM acme.processing_jobs")
        began = time.monotonic()
        blocked = migrate("--tenant", "acme")
        slowest = 0.0
        while blocked.poll() is None:
            asked = time.monotonic()
            with use("acme"):
                Queue().enqueue("test.ok", {})
            with use("globex"):
                canary = Twins({"globex": Queue().enqueue("test.ok", {}).pk})
            canary.become("succeeded")
            slowest = max(slowest, time.monotonic() - asked)
        assert blocked.returncode == 1
        assert time.monotonic() - began < 40
        said = blocked.stderr.read()  # type: ignore[union-attr]  # it is a pipe
        assert said.startswith("CommandError: Stopped at acme, jobqueue.0002_lanes: canceling statement due to lock ")
        assert "run the same command again" in said
        print(f"slowest request: {slowest:.1f} s")
        assert slowest < 10  # the lock time-out, and what this test waits for

    assert migrate("--tenant", "acme").wait(60) == 0
    both.a_canary_passes()
    eventually(lambda: server.execute("SELECT count(*) FROM acme.processing_jobs WHERE status = 'pending'") == [(0,)])
    assert server.execute("SELECT sum(deadlocks) FROM pg_stat_database") == [(0,)]
    assert worker.terminate() == 0
