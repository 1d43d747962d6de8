"""O06: how many connections workers open, and what they do when the server takes no more."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.faults.own_server.server import OwnServer
from tests.faults.sessions import KEEPERS, backends, end
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants


@contextmanager
def no_connection_left(server: OwnServer) -> Iterator[None]:
    """Take every connection that the server still has to give."""
    with ExitStack() as taken:
        while True:
            try:
                taken.enter_context(server.connect())
            except psycopg.OperationalError:
                break
        yield


@pytest.fixture
def few_connections(server: OwnServer) -> None:
    server.restart(max_connections="30")


@pytest.mark.usefixtures("few_connections")
def test_workers_that_get_no_connection_wait_and_go_on(both: BothTenants, start: Start, server: OwnServer) -> None:
    """Those that start, and those that lose one; the queue is worked off when there are connections again."""
    worker = start("--name", "old")
    both.a_canary_passes()
    (keeper,) = backends(KEEPERS)
    with no_connection_left(server):
        late = start("--name", "late")
        late.has_said("the database fails")
        end(keeper)
        with no_connection_left(server):
            worker.has_said("keeper: the database fails")
            waiting = both.enqueue("test.ok")
    waiting.become("succeeded")
    for each in (worker, late):
        each.has_said("keeper: the database works again")
        assert "Traceback" not in each.output
    both.a_canary_passes()
    assert worker.terminate() == late.terminate() == 0


@pytest.mark.parametrize("jobs", [300, pytest.param(5_000, marks=pytest.mark.long)])
def test_a_worker_has_one_connection_for_each_thread_and_four_of_its_own(
    both: BothTenants, start: Start, jobs: int
) -> None:
    """However many jobs it has run, and whatever their handlers left on their connections."""
    worker = start("--concurrency", "4")
    most = 0
    for tenant in TENANTS:
        with use(tenant):
            Queue().enqueue_many([JobSpec("test.ok", {})] * (jobs // 2))
            Queue().enqueue_many([JobSpec("test.leave", {"kind": kind}) for kind in ("closed", "raw_transaction")])

    def counted() -> bool:
        nonlocal most
        most = max(most, len(backends("true")))
        with use(TENANTS[-1]):
            return not ProcessingJob.objects.exclude(status="succeeded").exists()

    eventually(counted, within=110, what="all jobs are done")
    assert 2 < most <= 4 + 3 + 1
    assert worker.terminate() == 0
