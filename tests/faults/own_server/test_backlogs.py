"""Q43, Q44, Q45: what lies in the table, and how long somebody holds an old snapshot, costs a claim nothing.

What is measured are pages and rows, not seconds, which a busy machine would change; those are printed. On a server of
its own, since a long transaction in any other database would keep the dead entries of claimed jobs in the index.
"""

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import use
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows import claims
from jobqueue.rows.claims import Wanted
from jobqueue.rows.lanes import Marks
from tests.jobqueue.test_query_plans import buffers, plan, reads_the_whole_table, sorts

WANTED: dict[str, Any] = {"job_types": ["test.ok"], "queue_names": [f"q{n}" for n in range(10)]}
LANES, LIMIT = 10 * 3, 10
SIZES = pytest.mark.parametrize(
    "rows", [20_000, pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)


@pytest.fixture
def queue(committed_db: None) -> Iterator[Queue]:
    with use("acme"):
        yield Queue()


def insert(rows: int, columns: str) -> None:
    """Insert jobs in one transaction, without telling the planner."""
    names = "job_type, queue_name, priority, status, attempts, available_at, finished_at"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO processing_jobs (payload, {names}) "
            f"SELECT '{{}}', {columns} FROM generate_series(1, {rows}) AS n"
        )


def claim_all(queue: Queue, times: int) -> list[float]:
    """Claim again and again, look at the plans of one more claim, and return the seconds that each took, sorted."""
    seconds = []
    for _ in range(times):
        began = time.monotonic()
        assert len(queue.dequeue_many("w1", LIMIT, **WANTED)) == LIMIT
        seconds.append(time.monotonic() - began)
    with CaptureQueriesContext(connection) as queries:
        queue.dequeue_many("w1", LIMIT, **WANTED)
    for query in queries:
        if "status = 'pending'" in query["sql"]:  # the look, and the locks in each lane
            nodes = plan(query["sql"])
            assert not reads_the_whole_table(nodes), query["sql"]
            assert buffers(nodes) <= LANES * (LIMIT + 10)
            assert sorts(nodes) <= LANES * LIMIT
    return sorted(seconds)


def tell(what: str, seconds: list[float]) -> None:
    p50, p95 = (seconds[len(seconds) * percent // 100] * 1000 for percent in (50, 95))
    print(f"{what}: p50 {p50:.1f} ms, p95 {p95:.1f} ms")


@SIZES
def test_claims_cost_the_same_right_after_many_jobs_came_at_once_and_beside_many_finished_ones(
    queue: Queue, rows: int
) -> None:
    """Q43: ten queues, three priorities, no ANALYZE in between."""
    pending = "'test.ok', 'q' || n % 10, n % 3, 'pending', 0, now(), NULL::timestamptz"
    insert(rows, pending)
    tell(f"{rows:,} pending", claim_all(queue, 100))
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE processing_jobs")
    insert(rows, "'test.ok', 'q' || n % 10, n % 3, 'succeeded', 1, now(), now()")
    insert(2_000, pending)
    tell(f"2,000 pending beside {rows:,} finished", claim_all(queue, 100))


CROWDS = {
    "due next year": "'test.ok', 'q1', 1, 'pending', 0, now() + interval '1 year', NULL::timestamptz",
    "of a type that nobody serves": "'test.of_another', 'q1', 1, 'pending', 0, now(), NULL::timestamptz",
    "of a queue that nobody serves": "'test.ok', 'another', 1, 'pending', 0, now(), NULL::timestamptz",
    "to be tried again": "'test.ok', 'q1', 1, 'pending', 1, now() + n * interval '1 h', NULL::timestamptz",
    "paused": "'test.ok', 'q9', 1, 'pending', 0, now(), NULL::timestamptz",
    "dead letters": "'test.ok', 'q1', 1, 'dead_letter', 5, now(), NULL::timestamptz",
}


@pytest.mark.parametrize("rows", [10_000, pytest.param(500_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_rows_that_can_not_be_claimed_now_cost_an_idle_poll_nothing(queue: Queue, rows: int) -> None:
    """Q44: before and after they are there in tens of thousands, a look reads the same pages."""
    queue.pause("q9")
    insert(10, "'test.ok', 'q1', -100, 'pending', 0, now(), NULL::timestamptz")
    for crowd in CROWDS.values():
        insert(rows // 10, crowd)
    before = read_by_a_look(queue)
    for crowd in CROWDS.values():
        insert(rows, crowd)
    after = read_by_a_look(queue)

    assert after <= before + 10  # an index of more rows is higher by a page or so
    assert len(queue.dequeue_many("w1", 100, **WANTED)) == 10


def read_by_a_look(queue: Queue) -> int:
    """Return how many pages a look reads that finds ten jobs of the lowest priority."""
    with CaptureQueriesContext(connection) as queries, transaction.atomic():
        found = claims.claim("default", Wanted(**WANTED), 100, "w1", None)
        assert len(found.jobs) == 10
        transaction.set_rollback(True)
    (look,) = [query["sql"] for query in queries if "RECURSIVE" in query["sql"]]
    return buffers(plan(look))


@pytest.mark.long
@pytest.mark.timeout(600)
def test_while_a_snapshot_is_held_a_worker_that_goes_on_behind_its_marks_reads_no_more_than_at_first(
    queue: Queue, database_url: str
) -> None:
    """Q45: 60,000 jobs come and go meanwhile; what was claimed stays in the index."""
    marks = Marks()
    with psycopg.connect(database_url) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("SELECT count(*) FROM pg_class")
        pages, dead_per_job = [], 0.0
        for number in range(120):
            queue.enqueue_many([JobSpec("test.ok", {}, queue_name="q1")] * 500)
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                marks.begin(number * 0.01)  # the front is looked at every 20th time
                found = claims.claim("default", Wanted(**WANTED), 500, "w1", None, marks=marks)
            assert len(found.jobs) == 500
            queue.complete_many([(job, None) for job in found.jobs])
            looks = [query["sql"] for query in queries if "FOR UPDATE" in query["sql"]]
            if marks.looked_behind:
                pages.append(sum(buffers(plan(look)) for look in looks))
        dead_per_job = _dead_tuples() / (120 * 500)
        holder.rollback()
    assert max(pages[-20:]) < 5 * max(pages[:20])
    assert dead_per_job <= 2.1  # a claim and a completion leave one version each
    with connection.cursor() as cursor:
        cursor.execute("VACUUM processing_jobs")
    assert _dead_tuples() < 1_000


def _dead_tuples() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = 'processing_jobs'::regclass")
        return int(cursor.fetchone()[0])
