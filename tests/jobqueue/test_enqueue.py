"""Putting one job in: what is stored, what comes back, and what is refused."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.db import transaction

from jobqueue.handlers import job_handler, registered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs, columns, row


def test_a_job_that_names_nothing_but_its_type_gets_the_documented_defaults(queue: Queue) -> None:
    job = row(queue.enqueue("test.unknown", {"document_id": 7}))

    assert (job.job_type, job.payload, job.queue_name) == ("test.unknown", {"document_id": 7}, "default")
    assert (job.status, job.priority, job.attempts, job.max_attempts) == ("pending", 0, 0, 5)
    assert job.available_at == job.created_at
    assert (job.idempotency_key, job.result, job.last_error, job.history) == (None, None, "", [])
    assert (job.started_at, job.finished_at, job.locked_at, job.locked_by, job.lock_token) == (None,) * 5


def test_everything_that_the_caller_names_is_stored(queue: Queue) -> None:
    later = datetime(2099, 1, 1, 12, tzinfo=timezone(timedelta(hours=5, minutes=45)))

    job = queue.enqueue(
        "test.ok", {}, idempotency_key="k", queue_name="slow", priority=-100, available_at=later, max_attempts=10_000
    )

    stored = row(job)
    assert (stored.idempotency_key, stored.queue_name, stored.priority) == ("k", "slow", -100)
    assert (stored.available_at, stored.max_attempts) == (later, 10_000)


def test_the_job_that_comes_back_says_what_its_row_says(queue: Queue) -> None:
    job = queue.enqueue("test.ok", {"a": [1, None, "ü"]}, idempotency_key="k", priority=3)

    assert job.created is True
    assert {name: getattr(job, name) for name in columns(job)} == columns(job)


def test_a_time_past_means_at_once(queue: Queue, jobs: Jobs) -> None:
    job = jobs.pending(available_at=datetime(1999, 12, 31, tzinfo=UTC))

    assert queue.dequeue("w1").pk == job.pk


def test_a_handler_decides_the_attempts_of_its_jobs_unless_the_caller_does(queue: Queue) -> None:
    job_handler("test.enqueue.seven", max_attempts=7)(lambda context: None)

    assert registered()["test.enqueue.seven"].max_attempts == 7
    assert queue.enqueue("test.enqueue.seven", {}).max_attempts == 7
    assert queue.enqueue("test.enqueue.seven", {}, max_attempts=2).max_attempts == 2


def test_the_settings_decide_the_attempts_of_the_others(queue: Queue, settings: Any) -> None:
    settings.JOBQUEUE = {**getattr(settings, "JOBQUEUE", {}), "MAX_ATTEMPTS": 3}

    assert queue.enqueue("test.ok", {}).max_attempts == 3


def test_enqueueing_takes_one_statement(queue: Queue, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        queue.enqueue("test.ok", {}, idempotency_key="new")


def test_a_job_goes_with_the_transaction_that_is_rolled_back(queue: Queue) -> None:
    with transaction.atomic():
        queue.enqueue("test.ok", {})
        transaction.set_rollback(True)

    assert not ProcessingJob.objects.exists()


def test_a_second_handler_for_a_job_type_is_refused() -> None:
    job_handler("test.enqueue.taken")(lambda context: None)

    def another(context: object) -> None: ...

    with pytest.raises(ValueError, match="already has a handler"):
        job_handler("test.enqueue.taken")(another)
