"""The disk of one tenant's tables is full: that tenant waits, the others go on, and with room all is done."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.faults.own_server.disks import give_to_the_server, small_disk
from tests.faults.own_server.server import OwnServer
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins

pytestmark = pytest.mark.long


@pytest.fixture
def tiny_disk(server: OwnServer) -> Iterator[Path]:
    """A disk of 2 MB on which acme's jobs lie."""
    with small_disk(server, megabytes=2) as disk:
        place = disk / "tablespace"
        place.mkdir(mode=0o700)
        give_to_the_server(server, place)
        server.execute(f"CREATE TABLESPACE tiny LOCATION '{place}'")
        move(server, "tiny")
        yield disk
        server.execute("DROP TABLE IF EXISTS acme.filler")
        move(server, "pg_default")
        server.execute("DROP TABLESPACE tiny")


def move(server: OwnServer, tablespace: str) -> None:
    indexes = "SELECT indexname FROM pg_indexes WHERE tablename = 'processing_jobs' AND schemaname = 'acme'"
    server.execute(f"ALTER TABLE acme.processing_jobs SET TABLESPACE {tablespace}")
    for (name,) in server.execute(indexes):
        server.execute(f"ALTER INDEX acme.{name} SET TABLESPACE {tablespace}")


def fill(server: OwnServer) -> None:
    """Leave no room on the tiny disk."""
    server.execute("CREATE TABLE acme.filler (text text STORAGE PLAIN) TABLESPACE tiny")
    for size in (7_000, 100):
        with server.connect() as session, suppress(psycopg.errors.DiskFull):
            for _ in range(10_000):
                session.execute("INSERT INTO acme.filler SELECT repeat('x', %s) FROM generate_series(1, 10)", [size])
            pytest.fail("that disk is not full")


def test_a_full_disk_stops_the_tenant_whose_tables_are_on_it_and_nobody_else(
    both: BothTenants, start: Start, server: OwnServer, tiny_disk: Path
) -> None:
    with use("acme"):
        jobs = Queue().enqueue_many([JobSpec("test.ok", {})] * 600)
    fill(server)
    worker = start("--concurrency", "2")

    for _ in range(5):
        with use("globex"):
            canary = Twins({"globex": Queue().enqueue("test.ok", {}).pk})
        canary.become("succeeded", within=20)
    eventually(lambda: "No space left on device" in worker.output, within=60, what="the disk is full")
    with use("globex"):
        canary = Twins({"globex": Queue().enqueue("test.ok", {}).pk})
    canary.become("succeeded", within=20)

    server.execute("DROP TABLE acme.filler")
    with use("acme"):
        eventually(
            lambda: ProcessingJob.objects.filter(status="succeeded", attempts=1).count() == len(jobs),
            within=60,
            what="with room all are done",
        )
    both.a_canary_passes()
    assert worker.terminate() == 0
