"""The disk of the write-ahead log is full: the server ends itself. With room again nothing that was told is lost."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import DatabaseError, connection

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.faults.own_server.disks import give_to_the_server, small_disk
from tests.faults.own_server.server import OwnServer
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants

pytestmark = pytest.mark.long

_SEGMENT_MB = 16
# A log that keeps as few segments as it may, so that the next one has to be made soon.
_SETTINGS = {"min_wal_size": f"{2 * _SEGMENT_MB}MB", "max_wal_size": f"{2 * _SEGMENT_MB}MB"}


@pytest.fixture
def disk_of_the_log(server: OwnServer) -> Iterator[Path]:
    """A disk with room for some segments on which the server keeps its write-ahead log."""
    log = server.embedded.home.data / "pg_wal"
    with small_disk(server, megabytes=12 * _SEGMENT_MB) as disk:
        give_to_the_server(server, disk)
        server.stop()
        _move(log, disk / "pg_wal")
        log.symlink_to(disk / "pg_wal")
        server.restart(**_SETTINGS)
        yield disk
        (disk / "filler").unlink(missing_ok=True)
        if server.running:
            server.stop()
        log.unlink()
        _move(disk / "pg_wal", log)
        server.start()


def _move(folder: Path, to: Path) -> None:
    subprocess.run(["cp", "-a", str(folder), str(to)], check=True)
    shutil.rmtree(folder)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as filler:
        try:
            while filler.write(bytes(1 << 16)):
                pass
        except OSError:
            return


def enqueue_on_and_on(told: list[int]) -> None:
    """Note the jobs whose enqueueing was confirmed."""
    with use("acme"):
        for _ in range(5_000):
            spec = JobSpec("test.ok", {"text": os.urandom(4_000).hex()})
            told += [job.pk for job in Queue().enqueue_many([spec] * 10)]


def test_a_full_disk_under_the_log_loses_nothing_that_was_committed(
    both: BothTenants, start: Start, server: OwnServer, disk_of_the_log: Path
) -> None:
    worker = start("--concurrency", "2")
    both.a_canary_passes()
    fill(disk_of_the_log)
    told: list[int] = []
    with pytest.raises(DatabaseError):
        enqueue_on_and_on(told)
    connection.close()
    server.process.wait(60)
    assert "PANIC:  could not write to file" in server.log.read_text()
    worker.has_said("the database fails")
    assert worker.alive

    (disk_of_the_log / "filler").unlink()
    server.start()

    def left() -> int:
        with use("acme"):
            return len(told) - ProcessingJob.objects.filter(pk__in=told, status="succeeded").count()

    eventually(lambda: not left(), within=120, what="all jobs whose enqueueing was confirmed are done")
    both.a_canary_passes()
    assert "Traceback" not in worker.output
    assert worker.terminate() == 0
