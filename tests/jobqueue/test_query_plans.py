"""What a claim reads is what it takes, whatever lies around: finished jobs, jobs due later, other types and queues."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows.counts import read_counts

OTHERS = 10_000

# Each makes OTHERS rows beside which a claim must cost the same.
CROWDS = {
    "finished": "'test.ok', 'default', 'succeeded', 1, now(), now(), n % 3",
    "due later": "'test.ok', 'default', 'pending', 0, now() + n * interval '1 minute', NULL::timestamptz, n % 3",
    "of another type": "'test.other', 'default', 'pending', 0, now(), NULL, 50",
    "of another queue": "'test.ok', 'other', 'pending', 0, now(), NULL, 50",
}
# And so many that wait for the one that has their key.
BLOCKED = f"""
    INSERT INTO processing_jobs
        (payload, job_type, available_at, blocked_due_at, priority, concurrency_key, concurrency_limit)
    SELECT '{{}}', 'test.ok', timestamptz '9000-01-01 00:00Z', now(), n % 3, 'k', 1
    FROM generate_series(1, {OTHERS}) AS n
"""
WANTED: dict[str, Any] = {"job_types": ["test.ok", "test.sleep"], "queue_names": ["default", "slow"]}


@pytest.fixture
def queue(committed_db: None) -> Iterator[Queue]:
    """A queue in a table without dead rows: what tests roll back stays in it until it is vacuumed."""
    with use("acme"):
        yield Queue()


@pytest.fixture
def crowded(queue: Queue) -> None:
    """A table with all crowds."""
    columns = "job_type, queue_name, status, attempts, available_at, finished_at, priority"
    with connection.cursor() as cursor:
        for crowd in CROWDS.values():
            cursor.execute(
                f"INSERT INTO processing_jobs (payload, {columns}) "
                f"SELECT '{{}}', {crowd} FROM generate_series(1, {OTHERS}) AS n"
            )
        cursor.execute(BLOCKED)
        cursor.execute("VACUUM ANALYZE processing_jobs")


@pytest.fixture
def due(crowded: None, queue: Queue) -> None:
    """100 due jobs and 20 running ones beside the crowds."""
    queue.enqueue_many(JobSpec("test.ok", {}, priority=n % 3) for n in range(120))
    assert len(queue.dequeue_many("w1", 20, **WANTED)) == 20


def statements(call: Callable[[], object], *, everything: bool = False) -> list[str]:
    """Return what a call sends to the server about jobs, in order, and if so wished what else it asks there."""
    with CaptureQueriesContext(connection) as queries:
        call()
    about = ("processing_jobs", "pg_advisory") if everything else ("processing_jobs",)
    return [query["sql"] for query in queries if any(word in query["sql"] for word in about)]


def plan(statement: str) -> list[dict[str, Any]]:
    """Run the statement and return every node of its plan."""
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.replace("%", "%%"))
        answer = cursor.fetchone()[0]
    root = (json.loads(answer) if isinstance(answer, str) else answer)[0]["Plan"]
    return list(_nodes(root))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from _nodes(child)


def buffers(nodes: list[dict[str, Any]]) -> int:
    return int(nodes[0]["Shared Hit Blocks"] + nodes[0]["Shared Read Blocks"])


def indexes(nodes: list[dict[str, Any]]) -> set[str]:
    """Return the table's indexes that are read (not those of the catalogue)."""
    return {node["Index Name"] for node in nodes if "jobs" in node.get("Index Name", "")}


def reads_the_whole_table(nodes: list[dict[str, Any]]) -> bool:
    return any(node["Node Type"] == "Seq Scan" and node["Relation Name"] == "processing_jobs" for node in nodes)


def sorts(nodes: list[dict[str, Any]]) -> int:
    """Return the most rows that any node sorts."""
    kinds = {"Sort", "Incremental Sort"}
    return max((node["Actual Rows"] * node["Actual Loops"] for node in nodes if node["Node Type"] in kinds), default=0)


@pytest.mark.usefixtures("due")
@pytest.mark.parametrize("filters", [WANTED, {"job_types": ["test.ok"]}, {}])
def test_a_claim_reads_its_lanes_and_stops_at_its_limit(queue: Queue, filters: dict[str, Any]) -> None:
    _rescue, look, *locks, _update = statements(lambda: queue.dequeue_many("w2", 10, **filters))

    assert locks
    for nodes in [plan(look), *map(plan, locks)]:
        assert indexes(nodes) == {"jobs_pending_by_lane"}
        assert not reads_the_whole_table(nodes)
        assert buffers(nodes) < 200
        assert sorts(nodes) <= 60


@pytest.mark.usefixtures("due")
def test_a_claim_over_several_lanes_reads_each_from_its_front(queue: Queue) -> None:
    _rescue, _look, lock, _update = statements(lambda: queue.dequeue_many("w2", 80, **WANTED))

    nodes = plan(lock)
    assert indexes(nodes) == {"jobs_pending_by_lane", "processing_jobs_pkey"}
    assert not reads_the_whole_table(nodes)
    assert buffers(nodes) < 1_000


@pytest.mark.usefixtures("due")
def test_counting_for_people_reads_no_more_than_it_counts(queue: Queue) -> None:
    (count,) = statements(lambda: read_counts(queue.using, limit=100))

    assert buffers(plan(count)) < 400


@pytest.mark.usefixtures("crowded")
def test_an_idle_poll_costs_a_probe_for_each_lane(queue: Queue) -> None:
    _rescue, look = statements(lambda: queue.dequeue_many("w2", 100, **WANTED))

    nodes = plan(look)
    assert indexes(nodes) == {"jobs_pending_by_lane"}
    assert buffers(nodes) < 100


@pytest.mark.usefixtures("crowded")
def test_an_enqueue_looks_its_keys_up_in_their_index(queue: Queue) -> None:
    specs = [JobSpec("test.ok", {}, f"key {n}") for n in range(50)]
    (insert,) = statements(lambda: queue.enqueue_many(specs))
    nodes = plan(insert)

    assert not reads_the_whole_table(nodes)
    assert buffers(nodes) <= 10 * len(specs)


@pytest.mark.usefixtures("due")
def test_the_look_for_dead_workers_reads_the_running_jobs_only(queue: Queue) -> None:
    look, *_claim = statements(lambda: queue.dequeue_many("w2", 10, **WANTED))
    nodes = plan(look)

    assert indexes(nodes) == {"jobs_processing"}
    assert not reads_the_whole_table(nodes)
    assert buffers(nodes) < 200


@pytest.mark.usefixtures("due")
def test_a_claim_is_written_by_primary_key(queue: Queue) -> None:
    *_looks, update = statements(lambda: queue.dequeue_many("w2", 10, **WANTED))
    nodes = plan(update)

    assert indexes(nodes) == {"processing_jobs_pkey"}
    assert not reads_the_whole_table(nodes)


@pytest.mark.usefixtures("due")
def test_endings_are_written_by_primary_key(queue: Queue) -> None:
    claimed = queue.dequeue_many("w2", 50, **WANTED)

    (complete,) = statements(lambda: queue.complete_many([(job, None) for job in claimed]))
    nodes = plan(complete)

    assert indexes(nodes) == {"processing_jobs_pkey"}
    assert not reads_the_whole_table(nodes)


@pytest.mark.usefixtures("crowded")
def test_unblocking_reads_the_first_of_those_that_are_blocked(queue: Queue) -> None:
    nodes = plan("SELECT jobqueue_unblock('k')")

    assert ProcessingJob.objects.filter(blocked_due_at__isnull=True, concurrency_key="k").count() == 1
    assert buffers(nodes) < 600  # most of them of the catalogue


@pytest.mark.usefixtures("crowded")
def test_blocking_reads_what_is_due_of_the_key(queue: Queue) -> None:
    jobs = queue.enqueue_many(JobSpec("test.ok", {}, concurrency_key="k") for _ in range(3))
    _rescue, _look, _lock, advisory, held, block, *_claim = statements(
        lambda: queue.dequeue_many("w2", 10, **WANTED), everything=True
    )

    assert "pg_advisory_xact_lock" in advisory
    assert "concurrency_slot_is_held_once" in {node.get("Index Name") for node in plan(held)}
    assert len(jobs) == 3
    nodes = plan(block)
    assert indexes(nodes) <= {"jobs_pending_by_key", "processing_jobs_pkey"}
    assert not reads_the_whole_table(nodes)
