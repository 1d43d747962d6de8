"""Several open transactions and a worker, in any order: after each step every committed job has its wake-up."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.pq import TransactionStatus

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.tenants.sessions import Session, forgotten, rows, session, settle

TENANT = "globex"
#: Of the sessions that enqueue; the last one has one snapshot for its whole transaction.
ISOLATION = ("READ COMMITTED", "READ COMMITTED", "REPEATABLE READ")


class Fleet:
    """What a worker does, each act in a transaction of its own."""

    def __init__(self) -> None:
        self.queue = Queue()
        self.held: list[ProcessingJob] = []

    def claim(self) -> None:
        self.held += self.queue.dequeue_many("w", 1)

    def complete(self) -> None:
        if self.held:
            self.queue.complete(self.held.pop())

    def fail(self) -> None:
        if self.held:
            self.queue.fail(self.held.pop(), "boom")

    def give_up(self) -> None:
        if self.held:
            job = self.held.pop(0)
            self.queue.fail(job, "boom", retry=False)
            self.queue.requeue_dead_letter(job.pk)

    def release(self) -> None:
        if self.held:
            self.queue.release([self.held.pop(0)])

    def pause(self) -> None:
        self.queue.pause("default")

    def resume(self) -> None:
        self.queue.resume("default")

    def settle(self) -> None:
        settle(TENANT)


class Enqueuer:
    """A session with a transaction that is open for some steps, and with savepoints in it."""

    def __init__(self, session: Session, isolation: str) -> None:
        self._session = session
        self._isolation = isolation
        self._savepoints = 0

    def _in_transaction(self) -> None:
        if self._session.raw.info.transaction_status == TransactionStatus.IDLE:
            self._savepoints = 0
            self._session.begin(self._isolation)

    def enqueue(self) -> None:
        self._in_transaction()
        self._session.enqueue()

    def enqueue_later(self) -> None:
        self._in_transaction()
        self._session.enqueue(60)

    def set_savepoint(self) -> None:
        self._in_transaction()
        self._savepoints += 1
        self._session.execute(f"SAVEPOINT s{self._savepoints}")

    def release_savepoint(self) -> None:
        if self._savepoints:
            self._session.execute(f"RELEASE s{self._savepoints}")
            self._savepoints -= 1

    def roll_back_to_savepoint(self) -> None:
        if self._savepoints:
            self._session.execute(f"ROLLBACK TO s{self._savepoints}")

    def commit(self) -> None:
        if self._session.raw.info.transaction_status != TransactionStatus.IDLE:
            self._session.commit()
        self._savepoints = 0

    def roll_back(self) -> None:
        if self._session.raw.info.transaction_status != TransactionStatus.IDLE:
            self._session.rollback()
        self._savepoints = 0


ENQUEUER_ACTS = [name for name in vars(Enqueuer) if not name.startswith("_")]
FLEET_ACTS = [name for name in vars(Fleet) if not name.startswith("_")]
steps = st.one_of(
    st.tuples(st.integers(0, len(ISOLATION) - 1), st.sampled_from(ENQUEUER_ACTS)),
    st.tuples(st.none(), st.sampled_from([*FLEET_ACTS, "settle", "settle"])),
)


@pytest.fixture
def sessions(committed_db: None, database_url: str) -> Iterator[list[Session]]:
    with ExitStack() as stack:
        yield [stack.enter_context(session(database_url, TENANT)) for _ in ISOLATION]


@given(walk=st.lists(steps, min_size=10, max_size=40))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_committed_job_has_its_wake_up(sessions: list[Session], walk: list[tuple[int | None, str]]) -> None:
    fleet = Fleet()
    enqueuers = [Enqueuer(each, isolation) for each, isolation in zip(sessions, ISOLATION, strict=True)]
    try:
        with use(TENANT):
            for who, act in walk:
                do: Callable[[], None] = getattr(fleet if who is None else enqueuers[who], act)
                do()
                assert forgotten(TENANT) == []
            for enqueuer in enqueuers:
                enqueuer.commit()
            assert forgotten(TENANT) == []
            fleet.resume()
            while fleet.queue.dequeue_many("w", 100):
                pass
            ProcessingJob.objects.filter(status="processing").delete()
        assert settle(TENANT)
        with use(TENANT):
            assert len(rows(TENANT)) == int(ProcessingJob.objects.filter(status="pending").exists())
    finally:
        for enqueuer in enqueuers:
            enqueuer.roll_back()
        for table in ("processing_jobs", "paused_queues", "public.jobqueue_wakeups"):
            sessions[0].execute(f"DELETE FROM {table}")
