"""A lock that nobody renewed for too long is left behind by a dead worker, and its job is delivered again."""

from datetime import timedelta

import pytest
from django.db.models import F

from jobqueue.exceptions import NoJobAvailable
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.jobs import Jobs, age_lock, columns, row
from tests.jobqueue.waiting import eventually

SECONDS_60 = timedelta(seconds=60)


def test_a_job_locked_by_a_worker_that_died_is_refused_while_its_lock_is_fresh_and_delivered_once_it_is_stale(
    tenant: str,
) -> None:
    queue = Queue(stale_lock_after=timedelta(seconds=0.5))
    job = queue.enqueue("test.ok", {})
    claim = queue.dequeue("the worker that dies")
    with pytest.raises(NoJobAvailable):
        queue.dequeue("the second worker")
    assert queue.still_held(claim)

    (delivered,) = eventually(lambda: queue.dequeue_many("the second worker", 1), within=5)

    assert (delivered.pk, delivered.attempts) == (job.pk, 2)
    assert row(job).locked_by == "the second worker"
    assert ProcessingJob.objects.filter(started_at__gt=claim.started_at + queue.stale_lock_after).exists()


def test_a_lock_is_stale_when_it_is_older_than_the_limit_and_not_before(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    age_lock(job, SECONDS_60 - timedelta(seconds=5))
    before = columns(job)
    assert queue.dequeue_many("w2", 1) == []
    assert columns(job) == before

    age_lock(job, timedelta(seconds=5))
    assert queue.dequeue("w2").pk == job.pk


def test_a_lock_that_is_renewed_is_never_stale(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    for _ in range(3):
        age_lock(job, timedelta(seconds=50))
        assert queue.renew([job]) == [job]
    age_lock(job, timedelta(seconds=50))

    assert queue.dequeue_many("w2", 1) == []
    assert row(job).started_at == job.started_at


def test_a_rescued_job_says_who_died(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing("the worker that dies")
    age_lock(job)
    queue.dequeue_many("w2", 1, queue_names=["another"])

    rescued = row(job)
    assert (rescued.status, rescued.attempts, rescued.worker_deaths) == ("pending", 1, 1)
    assert rescued.last_error == "worker died (the worker that dies)"
    assert (rescued.locked_at, rescued.locked_by, rescued.lock_token) == (None, None, None)
    assert [(entry["worker"], entry["outcome"]) for entry in rescued.history] == [
        ("the worker that dies", "worker_died")
    ]


def test_a_worker_that_dies_on_the_last_attempt_leaves_a_dead_letter(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(max_attempts=3)
    for worker in ("w2", "w3"):
        age_lock(job)
        assert queue.dequeue(worker).pk == job.pk
    age_lock(job)

    assert queue.dequeue_many("w4", 1) == []

    dead = row(job)
    assert (dead.status, dead.attempts, dead.last_error) == ("dead_letter", 3, "worker died (w3)")
    assert [entry["worker"] for entry in dead.history] == ["w1", "w2", "w3"]


def test_a_rescued_job_keeps_its_place_in_the_queue(queue: Queue, jobs: Jobs) -> None:
    orphan = jobs.processing(priority=0)
    later = jobs.pending(priority=0)
    age_lock(orphan)

    assert [queue.dequeue("w2").pk, queue.dequeue("w2").pk] == [orphan.pk, later.pk]


def test_staleness_is_judged_by_the_row_alone(queue: Queue, jobs: Jobs) -> None:
    """Q12: whoever locked it, and however little the row says about that."""
    unknown, without_token = jobs.processing("nobody ever heard of"), jobs.processing()
    ProcessingJob.objects.filter(pk=without_token.pk).update(lock_token=None, started_at=None, locked_by="")
    for job in (unknown, without_token):
        age_lock(job)

    assert {queue.dequeue("w2").pk, queue.dequeue("w2").pk} == {unknown.pk, without_token.pk}


def test_any_number_of_orphans_is_rescued_by_looking_again(queue: Queue) -> None:
    queue.enqueue_many([JobSpec("test.ok", {}, max_attempts=1)] * 250)
    assert len(queue.dequeue_many("w1", 250)) == 250
    ProcessingJob.objects.update(locked_at=F("locked_at") - timedelta(minutes=5))

    for _ in range(3):
        queue.dequeue_many("w2", 1)

    assert set(ProcessingJob.objects.values_list("status", flat=True)) == {"dead_letter"}
