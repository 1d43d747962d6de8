"""What the pages read of a large table: a bounded part of it, whatever is filtered, searched or sorted by."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobqueue.admin import causes, jobs, paging, reach
from jobqueue.queue import Queue
from tests.jobqueue.admin.conftest import Login
from tests.jobqueue.admin.test_admin import CAUSES, LIST, VIEW
from tests.jobqueue.test_query_plans import buffers, plan

ROWS = 30_000
#: The table has more pages than this, and so has each kind of rows.
BUFFERS = 1_500

PAGES = {
    "the list": LIST,
    "its last page": f"{LIST}?p=6",
    "from the first": f"{LIST}?o=1",
    **{status: f"{LIST}?status__exact={status}" for status in ("pending", "processing", "dead_letter")},
    **{status: f"{LIST}?status__exact={status}" for status in ("succeeded", "failed")},
    "a type": f"{LIST}?job_type=test.ok",
    "a rare type": f"{LIST}?job_type=test.rare",
    "no such type": f"{LIST}?job_type=test.none",
    "a queue": f"{LIST}?queue_name=default",
    "no such queue": f"{LIST}?queue_name=none",
    "a rare type of a status": f"{LIST}?job_type=test.rare&status__exact=succeeded",
    "dead letters of no such type": f"{LIST}?job_type=test.none&status__exact=dead_letter",
    "pending of a type": f"{LIST}?job_type=test.ok&status__exact=pending",
    "any column": f"{LIST}?last_error__icontains=nothing",
    "an id": f"{LIST}?q=18000",
    "a key": f"{LIST}?q=key-18000",
    "words of an error": f"{LIST}?q=on+fire",
    "nothing": f"{LIST}?q=nothing+like+it",
    "sorted by status": f"{LIST}?o=3",
    "facets": f"{LIST}?_facets=True",
    "causes": CAUSES,
    "a cause": f"{LIST}?job_type=test.ok&cause=the+printer+is+on+fire",
    "a job": f"{LIST}18000/change/",
    "its history": f"{LIST}18000/history/",
}


@pytest.fixture
def crowded(committed_db: None, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many jobs of each kind: old ones pending, then dead letters, then finished ones; bounds are as much smaller."""
    for module in (causes, jobs, paging, reach):
        monkeypatch.setattr(module, "COUNT_LIMIT", 300)
    monkeypatch.setattr(reach, "NEWEST", 1_000)
    monkeypatch.setattr(reach, "PENDING", 200)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO processing_jobs
                (job_type, payload, status, attempts, finished_at, locked_at, locked_by, last_error, idempotency_key)
            SELECT CASE WHEN n = 10 THEN 'test.rare' ELSE 'test.ok' END, jsonb_build_object('text', repeat('x', 400)),
                   status, CASE WHEN status = 'pending' THEN 0 ELSE 1 END,
                   CASE WHEN status IN ('succeeded', 'failed') THEN now() END,
                   CASE WHEN status = 'processing' THEN now() END, CASE WHEN status = 'processing' THEN 'w1' END,
                   CASE WHEN status = 'dead_letter' THEN E'the printer is on fire\nand so on' ELSE '' END,
                   'key-' || n
            FROM (
                SELECT n, CASE WHEN n <= %(rows)s * 0.3 THEN 'pending' WHEN n <= %(rows)s * 0.6 THEN 'dead_letter'
                               WHEN n = %(rows)s * 0.7 THEN 'failed' WHEN n %% 1000 = 7 THEN 'processing'
                               ELSE 'succeeded' END AS status
                FROM generate_series(1, %(rows)s) AS n
            ) AS jobs
            """,
            {"rows": ROWS},
        )
        cursor.execute("VACUUM ANALYZE processing_jobs")


def read_by(client: Client, url: str) -> dict[str, int]:
    """Return what each of the page's statements about jobs reads, in buffers; the counts have a bound of their own."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(url).status_code == 200
    return {query["sql"]: buffers(plan(query["sql"])) for query in queries if '"processing_jobs"' in query["sql"]}


@pytest.mark.usefixtures("crowded")
def test_every_page_reads_a_bounded_part_of_the_table(login: Login) -> None:
    client = login(VIEW, "requeue_processingjob")

    too_much: dict[str, Any] = {}
    for name, url in PAGES.items():
        read = read_by(client, url)
        if bad := {statement: count for statement, count in read.items() if count > BUFFERS}:
            too_much[name] = bad
        assert len(read) < 12, name

    assert too_much == {}
