"""No wake-up is lost, wherever in a worker's settling another transaction begins, enqueues and ends.

The worker's statements are run one by one, and the other session's steps are put between any two of them, in each
possible way. Afterwards each job must be found by whoever reads the ledger alone.
"""

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from typing import Any

import pytest
from django.db import connection

from tests.jobqueue.tenants.sessions import Session, forgotten, rows, session, settle

TENANT = "acme"
#: Before each statement of a settling (lock, rows, due, running, delete, insert), before its COMMIT, and after it.
PLACES = 8

RUNNING = """
INSERT INTO processing_jobs (job_type, payload, status, attempts, locked_at, locked_by, lock_token)
VALUES ('test.ok', '{}', 'processing', 1, now(), 'w', gen_random_uuid())
"""
DEAD = "INSERT INTO processing_jobs (job_type, payload, status) VALUES ('test.ok', '{}', 'dead_letter')"
PAUSED = """
INSERT INTO paused_queues (queue_name) VALUES ('default');
INSERT INTO processing_jobs (job_type, payload) VALUES ('test.ok', '{}')
"""
PENDING_AGAIN = "UPDATE processing_jobs SET status = 'pending', locked_at = NULL, locked_by = NULL"

#: What lies there before, and what the other transaction does.
ACTS: dict[str, tuple[str, Callable[[Session], object]]] = {
    "enqueues": ("", lambda other: other.enqueue()),
    "enqueues for later": ("", lambda other: other.enqueue(60)),
    "gives a running job back": (RUNNING, lambda other: other.execute(PENDING_AGAIN)),
    "has a running job retried later": (
        RUNNING,
        lambda other: other.execute(f"{PENDING_AGAIN}, available_at = now() + interval '30s'"),
    ),
    "requeues a dead letter": (DEAD, lambda other: other.execute(PENDING_AGAIN)),
    "resumes a queue": (PAUSED, lambda other: other.execute("DELETE FROM paused_queues")),
    "makes a later job due": (
        "INSERT INTO processing_jobs (job_type, payload, available_at) VALUES ('test.ok', '{}', now() + '1 h')",
        lambda other: other.execute("UPDATE processing_jobs SET available_at = now()"),
    ),
}


class Interleaved:
    """Takes steps of its own before statements of this thread's connection, each before the one with its number."""

    def __init__(self, steps: list[tuple[int, Callable[[], object]]]) -> None:
        self._steps = steps
        self._count = 0

    def take(self) -> None:
        while self._steps and self._steps[0][0] <= self._count:
            self._steps.pop(0)[1]()
        self._count += 1

    def take_the_rest(self) -> None:
        for _, step in self._steps:
            step()

    def __call__(self, execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        self.take()
        return execute(sql, params, many, context)


@pytest.fixture
def other(committed_db: None, database_url: str) -> Iterator[Session]:
    with session(database_url, TENANT) as opened:
        yield opened


@pytest.mark.parametrize("known", [True, False], ids=["a row is there", "no row is there"])
@pytest.mark.parametrize(
    ("act", "isolation"), [*((act, "READ COMMITTED") for act in ACTS), ("enqueues", "REPEATABLE READ")]
)
def test_no_wake_up_is_lost(other: Session, act: str, isolation: str, known: bool) -> None:
    before, do = ACTS[act]
    for acts, ends in combinations_with_replacement(range(PLACES), 2):
        _empty(other)
        if before:
            other.execute(before)
        other.execute("DELETE FROM public.jobqueue_wakeups")
        if known:
            other.execute(f"SELECT public.jobqueue_wake('{TENANT}', now())")
        # A snapshot that lasts as long as the transaction is taken at the very beginning, any other just before.
        begins = 0 if isolation == "REPEATABLE READ" else acts
        steps = [(begins, lambda: other.begin(isolation)), (acts, lambda: do(other)), (ends, other.commit)]
        _settle_beside(steps)
        assert forgotten(TENANT) == [], (acts, ends)
        settle(TENANT)
        assert forgotten(TENANT) == [], (acts, ends)


def test_what_is_rolled_back_leaves_nothing_and_takes_nothing_along(other: Session) -> None:
    for acts, ends in combinations_with_replacement(range(PLACES), 2):
        _empty(other)
        other.enqueue(60)
        _settle_beside([(acts, other.begin), (acts, other.enqueue), (ends, other.rollback)])
        assert forgotten(TENANT) == [], (acts, ends)
        assert settle(TENANT)
        assert [round(due / 10) for due in rows(TENANT)] == [6]


def _settle_beside(steps: list[tuple[int, Callable[[], object]]]) -> None:
    worker = Interleaved(steps)
    with connection.execute_wrapper(worker):
        settle(TENANT, before_commit=worker.take)
    worker.take_the_rest()


def _empty(other: Session) -> None:
    for table in ("processing_jobs", "paused_queues", "public.jobqueue_wakeups"):
        other.execute(f"DELETE FROM {table}")
