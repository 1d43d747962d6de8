"""What a claim reads: the partial indexes from their start, however many other rows lie around."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobqueue.queue import Queue

OTHERS = 30_000


@pytest.fixture
def crowded(queue: Queue) -> None:
    """A table of finished jobs, with a few pending and running ones among them."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO processing_jobs
                (job_type, payload, status, attempts, finished_at, locked_at, locked_by, priority)
            SELECT 'test.ok', '{}',
                   CASE WHEN n %% 300 = 0 THEN 'pending' WHEN n %% 3001 = 0 THEN 'processing' ELSE 'succeeded' END,
                   CASE WHEN n %% 300 = 0 THEN 0 ELSE 1 END,
                   CASE WHEN n %% 300 = 0 OR n %% 3001 = 0 THEN NULL ELSE now() END,
                   CASE WHEN n %% 300 <> 0 AND n %% 3001 = 0 THEN now() END,
                   CASE WHEN n %% 300 <> 0 AND n %% 3001 = 0 THEN 'w1' END,
                   n %% 3
            FROM generate_series(1, %s) AS n
            """,
            [OTHERS],
        )
        cursor.execute("ANALYZE processing_jobs")


def statements(queue: Queue, **filters: Any) -> list[str]:
    """Return what a claim of a batch sends to the server, in order."""
    with CaptureQueriesContext(connection) as queries:
        assert queue.dequeue_many("w2", 10, **filters)
    return [query["sql"] for query in queries if "processing_jobs" in query["sql"]]


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


FILTERS: list[dict[str, Any]] = [
    {},
    {"job_types": ["test.ok", "test.sleep"]},
    {"job_types": ["test.ok"], "queue_names": ["default", "slow"]},
]


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("filters", FILTERS)
def test_a_claim_reads_the_pending_jobs_in_claim_order_and_stops_at_its_limit(
    queue: Queue, filters: dict[str, Any]
) -> None:
    _look, claim, _update = statements(queue, **filters)
    nodes = plan(claim)

    assert indexes(nodes) == {"jobs_pending_in_claim_order"}
    assert not reads_the_whole_table(nodes)
    assert buffers(nodes) < 200
    assert not {"Sort", "Incremental Sort"} & {node["Node Type"] for node in nodes}


@pytest.mark.usefixtures("crowded")
def test_the_look_for_dead_workers_reads_the_running_jobs_only(queue: Queue) -> None:
    look, _claim, _update = statements(queue)
    nodes = plan(look)

    assert indexes(nodes) == {"jobs_processing"}
    assert not reads_the_whole_table(nodes)
    assert buffers(nodes) < 200


@pytest.mark.usefixtures("crowded")
def test_a_claim_is_written_by_primary_key(queue: Queue) -> None:
    _look, _claim, update = statements(queue)
    nodes = plan(update)

    assert indexes(nodes) == {"processing_jobs_pkey"}
    assert not reads_the_whole_table(nodes)
