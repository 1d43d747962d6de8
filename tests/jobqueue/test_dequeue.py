"""Taking jobs out: which, in what order, and what a claim leaves in the row."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from jobqueue.exceptions import NoJobAvailable
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import MINUTES, Jobs, age_lock, columns, row

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


def claimed(queue: Queue, **filters: Any) -> list[int]:
    return [job.pk for job in queue.dequeue_many("w1", 100, **filters)]


def test_nothing_due_is_said_by_an_error_or_an_empty_list(queue: Queue) -> None:
    with pytest.raises(NoJobAvailable):
        queue.dequeue("w1")
    assert queue.dequeue_many("w1", 5) == []


def test_a_claim_counts_the_attempt_and_locks_the_row(queue: Queue, jobs: Jobs) -> None:
    before = columns(jobs.pending())

    job = queue.dequeue("w1")

    now = row(job)
    assert (now.status, now.attempts, now.locked_by) == ("processing", 1, "w1")
    assert now.locked_at == now.started_at
    assert now.lock_token is not None
    untouched = set(before) - {"status", "attempts", "locked_by", "locked_at", "started_at", "lock_token"}
    assert {name: columns(job)[name] for name in untouched} == {name: before[name] for name in untouched}


def test_what_comes_back_is_what_the_row_says(queue: Queue, jobs: Jobs) -> None:
    jobs.pending(payload={"a": [1]})
    jobs.pending(payload={"b": None})

    for job in queue.dequeue_many("w1", 5, holder_key=7):
        assert {name: getattr(job, name) for name in columns(job)} == columns(job)


def test_each_claim_has_a_token_of_its_own(queue: Queue, jobs: Jobs) -> None:
    job = jobs.pending()
    tokens = set()
    for _ in range(3):
        claim = queue.dequeue("w1")
        tokens.add(claim.lock_token)
        queue.fail(claim, "again")

    assert len(tokens) == 3
    assert row(job).lock_token is None


def test_higher_priority_comes_first_then_longer_due_then_lower_id(queue: Queue, jobs: Jobs) -> None:
    last = jobs.pending(priority=-100, available_at=LONG_AGO)
    third = jobs.pending()
    fourth = jobs.pending()
    second = jobs.pending(available_at=LONG_AGO)
    first = jobs.pending(priority=100)

    assert claimed(queue) == [job.pk for job in (first, second, third, fourth, last)]


def test_a_batch_stops_at_its_limit_and_goes_on_where_it_stopped(queue: Queue, jobs: Jobs) -> None:
    expected = [jobs.pending().pk for _ in range(5)]

    batches = [[job.pk for job in queue.dequeue_many("w1", 2)] for _ in range(4)]

    assert batches == [expected[:2], expected[2:4], expected[4:], []]


def test_a_job_is_not_due_before_its_time(queue: Queue, jobs: Jobs) -> None:
    job = jobs.pending(available_at=datetime(2099, 1, 1, tzinfo=UTC))
    with pytest.raises(NoJobAvailable):
        queue.dequeue("w1")

    ProcessingJob.objects.update(available_at=Now() + timedelta(milliseconds=50))
    assert claimed(queue) == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.06)")  # the database's clock decides
    assert claimed(queue) == [job.pk]


def test_only_the_types_asked_for_are_taken(queue: Queue, jobs: Jobs) -> None:
    ok, other = jobs.pending("test.ok"), jobs.pending("test.sleep")

    assert claimed(queue, job_types=["test.unknown"]) == []
    assert claimed(queue, job_types=[]) == []
    assert claimed(queue, job_types=["test.sleep", "test.raise"]) == [other.pk]
    assert claimed(queue, job_types=None) == [ok.pk]


def test_only_the_queues_asked_for_are_served(queue: Queue, jobs: Jobs) -> None:
    default, slow = jobs.pending(), jobs.pending(queue_name="slow")

    assert claimed(queue, queue_names=[]) == []
    assert claimed(queue, queue_names=["slow", "none"], job_types=["test.sleep"]) == []
    assert claimed(queue, queue_names=["slow", "none"], job_types=["test.ok"]) == [slow.pk]
    assert claimed(queue) == [default.pk]


@pytest.mark.parametrize("state", ["processing", "succeeded", "dead_letter", "discarded", "cancelled"])
def test_only_pending_jobs_are_claimed(queue: Queue, jobs: Jobs, state: str) -> None:
    job = getattr(jobs, state)()
    before = columns(job)

    assert claimed(queue) == []
    assert columns(job) == before


def test_a_claim_from_one_lane_takes_four_statements_whatever_it_finds(
    queue: Queue, jobs: Jobs, django_assert_num_queries: Any
) -> None:
    for _ in range(50):
        jobs.pending()
    savepoint_and_release, rescue, look, lock, update = 2, 1, 1, 1, 1

    with django_assert_num_queries(savepoint_and_release + rescue + look):
        assert claimed(queue, queue_names=["empty"]) == []
    with django_assert_num_queries(savepoint_and_release + rescue + look + lock + update):
        assert len(claimed(queue)) == 50


def test_stale_jobs_of_other_types_are_rescued_but_not_claimed(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(job_type="test.sleep")
    age_lock(job, MINUTES)

    assert claimed(queue, job_types=["test.ok"]) == []
    assert row(job).status == "pending"


def test_the_default_stale_limit_comes_from_the_settings(queue: Queue, jobs: Jobs, settings: Any) -> None:
    settings.JOBQUEUE = {**getattr(settings, "JOBQUEUE", {}), "STALE_LOCK_AFTER": timedelta(hours=1)}
    assert queue.stale_lock_after == timedelta(hours=1)
    job = jobs.processing()
    age_lock(job, timedelta(minutes=59))
    assert claimed(queue) == []

    assert claimed(Queue(stale_lock_after=timedelta(minutes=58))) == [job.pk]


def test_locked_at_is_the_database_clock_at_the_claim(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()

    assert ProcessingJob.objects.filter(
        pk=job.pk, locked_at__lte=Now(), locked_at__gt=Now() - timedelta(seconds=20), created_at__lte=F("locked_at")
    ).exists()
