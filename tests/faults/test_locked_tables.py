"""O12: somebody holds the lock of a whole table, as a migration does."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins


@contextmanager
def locked(url: str, tenant: str) -> Iterator[None]:
    with psycopg.connect(url) as session:
        session.execute(f"LOCK TABLE {tenant}.processing_jobs IN ACCESS EXCLUSIVE MODE")
        yield


def test_a_locked_table_stops_its_tenant_alone_however_many_endings_wait_for_it(
    both: BothTenants, start: Start, database_url: str
) -> None:
    with use("acme"):
        jobs = Queue().enqueue_many([JobSpec("test.ok", {})] * 2000)
    worker = start("--concurrency", "8", variables={"DMS_LOG_LEVEL": "WARNING"})
    with use("acme"):
        eventually(lambda: ProcessingJob.objects.filter(status="succeeded").count() > 200, what="the worker is at it")
    with locked(database_url, "acme"):
        for _ in range(3):
            with use("globex"):
                canary = Twins({"globex": Queue().enqueue("test.ok", {}).pk})
            canary.become("succeeded", within=15)
    with use("acme"):
        eventually(lambda: ProcessingJob.objects.filter(status="succeeded").count() == len(jobs), within=60)
        assert ProcessingJob.objects.filter(attempts=1).count() == len(jobs)
    assert worker.terminate() == 0
