"""Concurrency keys: at most so many jobs of a key run at once, whatever becomes of them, and none holds up others."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from jobqueue.exceptions import InvalidJob
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows.claims import Wanted, claim, undo
from jobqueue.rows.concurrency import unblock_forgotten
from jobqueue.rows.lanes import Marks
from jobqueue.task_api import InvalidTask
from tests.jobqueue.jobs import Jobs, row
from tests.jobqueue.test_query_plans import statements
from tests.testjobs import tasks


def commit() -> None:
    """Do what a commit does: run the deferred triggers."""
    connection.check_constraints()


def ids(jobs: Sequence[ProcessingJob]) -> list[int]:
    return [job.pk for job in jobs]


def blocked() -> set[int]:
    return set(ProcessingJob.objects.filter(blocked_due_at__isnull=False).values_list("pk", flat=True))


def test_at_most_as_many_jobs_of_a_key_run_as_its_limit_says(queue: Queue) -> None:
    jobs = queue.enqueue_many(JobSpec("test.ok", {}, concurrency_key="k", concurrency_limit=2) for _ in range(5))
    claimed = queue.dequeue_many("w1", 10)
    assert ids(claimed) == ids(jobs[:2])
    assert [row(job).concurrency_slot for job in jobs] == [1, 2, None, None, None]
    assert {row(job).status for job in jobs[2:]} == {"pending"}
    assert blocked() == set(ids(jobs[2:]))

    queue.complete(claimed[0])
    commit()
    (third,) = queue.dequeue_many("w1", 10)
    assert (third.pk, third.concurrency_slot, row(third).concurrency_slot) == (jobs[2].pk, 1, 1)
    assert third.available_at == jobs[2].available_at


def test_jobs_of_a_full_key_hold_up_no_others(queue: Queue, jobs: Jobs) -> None:
    queue.enqueue_many(JobSpec("test.ok", {}, priority=5, concurrency_key="k") for _ in range(30))
    same_lane, other_lane = jobs.pending(priority=5), jobs.pending("test.sleep")
    other_key = jobs.pending(concurrency_key="another")
    taken = [queue.dequeue("w1").pk for _ in range(4)]
    assert set(taken[1:]) == {same_lane.pk, other_lane.pk, other_key.pk}
    assert len(blocked()) == 29
    assert queue.dequeue_many("w1", 10) == []


def test_a_worker_behind_its_marks_also_goes_on_with_others(queue: Queue, jobs: Jobs) -> None:
    queue.enqueue_many(JobSpec("test.ok", {}, priority=5, concurrency_key="k") for _ in range(30))
    other = jobs.pending("test.sleep")
    marks = Marks()
    taken = []
    for _ in range(2):
        marks.begin(0.0)
        with transaction.atomic():
            taken += claim("default", Wanted(), 3, "w1", None, marks=marks).jobs
    assert len(taken) == 2
    assert taken[-1].pk == other.pk or taken[0].pk == other.pk


ENDINGS: dict[str, Callable[[Queue, ProcessingJob], object]] = {
    "complete": lambda queue, job: queue.complete(job),
    "complete_many": lambda queue, job: queue.complete_many([(job, None)]),
    "fail for now": lambda queue, job: queue.fail(job, "boom"),
    "fail for good": lambda queue, job: queue.fail(job, "boom", retry=False),
    "cancel": lambda queue, job: queue.cancel(job.pk),
    "undo": lambda queue, job: undo("default", job.lock_token, 0) if job.lock_token else None,
    "delete": lambda queue, job: ProcessingJob.objects.filter(pk=job.pk).delete(),
    "worker dies": lambda queue, job: _die(queue, job),
}


def _die(queue: Queue, job: ProcessingJob) -> None:
    ProcessingJob.objects.filter(pk=job.pk).update(locked_at=timezone.now() - timedelta(hours=1))
    assert queue.rescue() == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_job_ends_the_most_urgent_blocked_one_may_go_on(ending: str, queue: Queue, jobs: Jobs) -> None:
    first = jobs.processing(concurrency_key="k", max_attempts=3)
    waiting = jobs.pending(concurrency_key="k")
    urgent = jobs.pending(concurrency_key="k", priority=7, available_at=timezone.now() - timedelta(minutes=1))
    assert queue.dequeue_many("w1", 10) == []
    assert blocked() == {waiting.pk, urgent.pk}

    ENDINGS[ending](queue, first)
    assert blocked() == {waiting.pk, urgent.pk}  # until the commit
    commit()
    assert blocked() == {waiting.pk}
    assert row(urgent).available_at == urgent.available_at


def test_a_retry_waits_without_a_slot_and_a_suspected_job_keeps_it(queue: Queue, jobs: Jobs) -> None:
    first = jobs.processing(concurrency_key="k")
    assert ProcessingJob.objects.filter(pk=first.pk).update(suspected_since=timezone.now()) == 1
    jobs.pending(concurrency_key="k")
    assert queue.dequeue_many("w1", 10) == []
    queue.fail(first, "boom")
    commit()
    assert row(first).concurrency_slot is None
    assert len(queue.dequeue_many("w1", 10)) == 1


def test_a_slot_is_free_when_the_transaction_that_ends_the_job_commits(queue: Queue, jobs: Jobs) -> None:
    first, second = jobs.processing(concurrency_key="k"), jobs.pending(concurrency_key="k")
    assert queue.dequeue_many("w1", 10) == []
    with transaction.atomic():
        queue.complete(first)
        transaction.set_rollback(True)
    commit()
    assert queue.dequeue_many("w1", 10) == []
    assert blocked() == {second.pk}


def unblocked(jobs: Jobs, queue: Queue, **options: Any) -> tuple[ProcessingJob, ProcessingJob]:
    """Return a job that has just been unblocked, with its slot free, and one that is blocked behind it."""
    first = jobs.processing(concurrency_key="k")
    following, last = jobs.pending(concurrency_key="k", **options), jobs.pending(concurrency_key="k")
    assert queue.dequeue_many("w1", 10) == []
    queue.complete(first)
    commit()
    assert blocked() == {last.pk}
    return following, last


def test_if_the_unblocked_job_is_cancelled_the_next_one_follows(jobs: Jobs, queue: Queue) -> None:
    following, last = unblocked(jobs, queue)
    assert queue.cancel(following.pk)
    commit()
    assert ids(queue.dequeue_many("w1", 10)) == [last.pk]


def test_if_the_unblocked_job_is_put_off_the_next_one_follows(jobs: Jobs, queue: Queue) -> None:
    _following, last = unblocked(jobs, queue, idempotency_key="i")
    later = timezone.now() + timedelta(hours=1)
    queue.enqueue("test.ok", {}, idempotency_key="i", if_known="replace", available_at=later, concurrency_key="k")
    commit()
    assert ids(queue.dequeue_many("w1", 10)) == [last.pk]


def test_a_slot_doesnt_wait_for_a_job_whose_queue_is_paused(jobs: Jobs, queue: Queue) -> None:
    first = jobs.processing(concurrency_key="k")
    jobs.pending(concurrency_key="k", queue_name="mail")
    last = jobs.pending(concurrency_key="k")
    assert queue.dequeue_many("w1", 10) == []
    queue.pause("mail")
    queue.complete(first)
    commit()
    assert ids(queue.dequeue_many("w1", 10)) == [last.pk]


def test_a_blocked_job_can_be_cancelled_and_replaced(jobs: Jobs, queue: Queue) -> None:
    jobs.processing(concurrency_key="k")
    cancelled, replaced = jobs.pending(concurrency_key="k"), jobs.pending(concurrency_key="k", idempotency_key="i")
    assert queue.dequeue_many("w1", 10) == []
    assert queue.cancel(cancelled.pk)
    assert row(cancelled).available_at == cancelled.available_at
    queue.enqueue("test.ok", {}, idempotency_key="i", if_known="replace")
    assert ids(queue.dequeue_many("w1", 10)) == [replaced.pk]


def test_jobs_with_other_limits_are_counted_together(queue: Queue, jobs: Jobs) -> None:
    jobs.processing(concurrency_key="k", concurrency_limit=3)
    alone = jobs.pending(concurrency_key="k", priority=1)
    beside = jobs.pending(concurrency_key="k", concurrency_limit=2)
    assert ids(queue.dequeue_many("w1", 10)) == [beside.pk]
    assert blocked() == {alone.pk}


def test_a_job_that_must_run_alone_needs_a_slot_like_any(queue: Queue, jobs: Jobs) -> None:
    jobs.processing(concurrency_key="k")
    lonely = jobs.pending(concurrency_key="k")
    ProcessingJob.objects.filter(pk=lonely.pk).update(worker_deaths=2)
    assert queue.dequeue_many("w1", 10, alone=True) == []
    assert blocked() == {lonely.pk}


def test_what_was_blocked_in_vain_is_found(queue: Queue, jobs: Jobs) -> None:
    assert unblock_forgotten("default") == 0
    forgotten = jobs.pending(concurrency_key="k")
    far = datetime(9000, 1, 1, tzinfo=UTC)
    ProcessingJob.objects.filter(pk=forgotten.pk).update(blocked_due_at=forgotten.available_at, available_at=far)
    commit()
    assert queue.dequeue_many("w1", 10) == []
    assert unblock_forgotten("default") == 1
    assert ids(queue.dequeue_many("w1", 10)) == [forgotten.pk]


def test_the_table_itself_refuses_a_slot_that_is_held_twice(jobs: Jobs) -> None:
    jobs.processing(concurrency_key="k")
    other = jobs.processing(concurrency_key="other")
    with pytest.raises(IntegrityError, match="concurrency_slot_is_held_once"), transaction.atomic():
        ProcessingJob.objects.filter(pk=other.pk).update(concurrency_key="k")


def test_a_claim_of_jobs_without_keys_asks_nothing_about_keys(queue: Queue, jobs: Jobs) -> None:
    jobs.pending()
    assert len(statements(lambda: queue.dequeue_many("w1", 10))) == 4  # look for the dead, look, lock, claim


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency_key": ""}, "concurrency_key has 0 characters"),
        ({"concurrency_key": "k" * 256}, "concurrency_key has 256 characters"),
        ({"concurrency_key": 7}, "concurrency_key must be a text"),
        ({"concurrency_key": "k", "concurrency_limit": 0}, "concurrency_limit is 0"),
        ({"concurrency_key": "k", "concurrency_limit": True}, "concurrency_limit must be an int"),
    ],
)
def test_what_is_no_key_or_limit_is_refused(options: dict[str, Any], message: str, queue: Queue) -> None:
    with pytest.raises(InvalidJob, match=message):
        queue.enqueue("test.ok", {}, **options)


def test_a_task_can_name_a_key_and_a_limit(queue: Queue) -> None:
    result = tasks.add.using(concurrency_key='cust"7', concurrency_limit=3).enqueue(1, 2)
    with pytest.raises(InvalidTask, match="concurrency_limit is 0"):
        tasks.add.using(concurrency_limit=0)
    job = ProcessingJob.objects.get(pk=int(result.id))
    assert (job.concurrency_key, job.concurrency_limit) == ('cust"7', 3)
