"""The fence: a worker writes about a job only while its own claim holds it. Whoever held it before changes nothing."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from jobqueue.exceptions import LockLost
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs, age_lock, columns, row


def taken_by_another_worker(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    age_lock(job)
    assert queue.dequeue("w2").pk == job.pk
    return job


def taken_again_by_the_same_worker(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    age_lock(job)
    assert queue.dequeue("w1").pk == job.pk
    return job


def completed_by_another_worker(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    age_lock(job)
    queue.complete(queue.dequeue("w2"), "theirs")
    return job


def dead_lettered_by_another_worker(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    age_lock(job)
    queue.fail(queue.dequeue("w2"), "theirs", retry=False)
    return job


def rescued_and_not_yet_claimed(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    age_lock(job)
    assert queue.dequeue_many("w2", 1, queue_names=["another"]) == []
    return job


def rescued_for_the_last_time(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1", max_attempts=1)
    age_lock(job)
    assert queue.dequeue_many("w2", 1) == []
    return job


def failed_and_claimed_again(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    queue.fail(job, "first")
    jobs.claim(job, "w1")
    return job


def released_and_claimed_again(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.processing("w1")
    queue.release([job])
    jobs.claim(job, "w1")
    return job


def requeued_and_claimed_again(queue: Queue, jobs: Jobs) -> ProcessingJob:
    job = jobs.dead_letter()
    queue.requeue_dead_letter(job.pk)
    jobs.claim(job, "w1")
    return job


def cancelled(queue: Queue, jobs: Jobs) -> ProcessingJob:
    return jobs.cancelled()


def never_claimed(queue: Queue, jobs: Jobs) -> ProcessingJob:
    return jobs.pending()


LOST = [
    taken_by_another_worker,
    taken_again_by_the_same_worker,
    completed_by_another_worker,
    dead_lettered_by_another_worker,
    rescued_and_not_yet_claimed,
    rescued_for_the_last_time,
    failed_and_claimed_again,
    released_and_claimed_again,
    requeued_and_claimed_again,
    cancelled,
    never_claimed,
]


@pytest.fixture(params=LOST, ids=lambda way: way.__name__)
def lost(request: pytest.FixtureRequest, queue: Queue, jobs: Jobs) -> ProcessingJob:
    """A job as a worker remembers it that doesn't hold it any more."""
    return request.param(queue, jobs)


WRITES: dict[str, Callable[[Queue, ProcessingJob], object]] = {
    "complete": lambda queue, job: queue.complete(job, "mine"),
    "fail": lambda queue, job: queue.fail(job, "mine"),
    "fail for good": lambda queue, job: queue.fail(job, "mine", retry=False),
    "report_progress": lambda queue, job: queue.report_progress(job, 99),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_claim_that_is_over_writes_nothing(queue: Queue, lost: ProcessingJob, write: str) -> None:
    before = columns(lost)

    with pytest.raises(LockLost, match=f"Job {lost.pk} "):
        WRITES[write](queue, lost)

    assert columns(lost) == before


def test_a_claim_that_is_over_renews_and_releases_nothing(queue: Queue, lost: ProcessingJob) -> None:
    before = columns(lost)

    assert queue.renew([lost]) == []
    assert queue.release([lost]) == []
    assert queue.still_held(lost) is False
    assert columns(lost) == before


@pytest.mark.parametrize("write", [*WRITES, "renew", "release"])
def test_the_token_alone_decides_not_the_worker_or_the_attempt(queue: Queue, jobs: Jobs, write: str) -> None:
    job = jobs.processing()
    forged = row(job)
    forged.lock_token = jobs.processing().lock_token
    before = columns(job)

    if write in WRITES:
        with pytest.raises(LockLost):
            WRITES[write](queue, forged)
    else:
        assert getattr(queue, write)([forged]) == []

    assert columns(job) == before


def test_the_holder_of_the_new_claim_is_not_disturbed(queue: Queue, jobs: Jobs) -> None:
    old = jobs.processing("w1")
    age_lock(old)
    new = queue.dequeue("w2")
    for write in WRITES.values():
        with pytest.raises(LockLost):
            write(queue, old)
    queue.renew([old])
    queue.release([old])

    assert queue.still_held(new)
    queue.complete(new, "theirs")
    assert (row(new).status, row(new).result, row(new).attempts) == ("succeeded", "theirs", 2)


@pytest.mark.parametrize("order", [1, -1])
def test_old_and_new_claim_of_one_job_in_one_batch_are_told_apart(queue: Queue, jobs: Jobs, order: int) -> None:
    old = jobs.processing("w1")
    age_lock(old)
    new = queue.dequeue("w1")

    assert queue.renew([old, new][::order]) == [new]
    assert queue.release([old, new][::order]) == [new]
    assert row(new).status == "pending"


def test_a_repeated_complete_of_the_same_claim_succeeds_and_changes_nothing(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    queue.complete(job, "first")
    before = columns(job)

    queue.complete(job, "second")

    assert columns(job) == before


def test_the_token_stays_on_the_finished_row(queue: Queue, jobs: Jobs) -> None:
    job = jobs.succeeded()

    assert row(job).lock_token == job.lock_token
    assert (row(job).locked_at, row(job).locked_by) == (None, None)


def test_a_batch_writes_what_is_held_and_leaves_the_rest(queue: Queue, jobs: Jobs) -> None:
    lost, held = taken_by_another_worker(queue, jobs), jobs.processing("w1")
    theirs = columns(lost)
    age_lock(held, timedelta(seconds=1))

    assert queue.renew([lost, held]) == [held]
    assert row(held).locked_at > held.locked_at - timedelta(seconds=1)
    assert queue.release([held, lost]) == [held]
    assert columns(lost) == theirs


def test_renewing_and_releasing_nothing_is_allowed(queue: Queue) -> None:
    assert queue.renew([]) == []
    assert queue.release([]) == []


@pytest.mark.parametrize("percent", [-1, 101, 5.0, True, None, "5"])
def test_progress_is_a_whole_number_of_percent(queue: Queue, jobs: Jobs, percent: Any) -> None:
    job = jobs.processing()

    with pytest.raises(ValueError, match="percent"):
        queue.report_progress(job, percent)
    assert row(job).progress is None


def test_progress_is_recorded_and_starts_anew_with_the_next_attempt(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    for percent in (0, 100):
        queue.report_progress(job, percent)
        assert row(job).progress == percent

    queue.fail(job, "again")
    assert jobs.claim(job).progress is None
    assert row(job).progress is None
