"""Enqueueing one job is prepared on the server, where the session is the caller's own, and nothing else is."""

from collections.abc import Iterator

import pytest
from django.db import connection, transaction

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows import direct_sessions

pytestmark = pytest.mark.usefixtures("committed_db")


@pytest.fixture(autouse=True)
def own_connection() -> Iterator[None]:
    connection.close()
    yield
    connection.close()


def prepared() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [statement for (statement,) in cursor.fetchall()]


def test_from_the_second_job_on_the_insert_is_prepared_and_nothing_else(queue: Queue) -> None:
    queue.enqueue("test.ok", {})
    assert prepared() == []

    for number in range(5):
        queue.enqueue("test.ok", {"number": number})
        assert ProcessingJob.objects.filter(payload__number=number).exists()

    (statement,) = prepared()
    assert "INSERT INTO processing_jobs" in statement


def test_a_rollback_and_a_washed_session_do_no_harm(queue: Queue) -> None:
    for _ in range(3):
        queue.enqueue("test.ok", {})
    with transaction.atomic():
        queue.enqueue("test.ok", {})
        transaction.set_rollback(True)
    queue.enqueue("test.ok", {})
    connection.connection.execute("DISCARD ALL")  # as between two jobs of a worker's thread

    assert queue.enqueue("test.ok", {}).created


def test_behind_a_pooler_nothing_is_prepared(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """It tells a process id of its own; here it is the answer that differs."""
    learn = direct_sessions.learn
    monkeypatch.setattr("jobqueue.rows.inserts.learn", lambda using, process: learn(using, process + 1))

    for _ in range(5):
        queue.enqueue("test.ok", {})

    assert prepared() == []
