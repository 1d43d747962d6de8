"""One key, one job: for as long as the job's row exists, whatever its status."""

import pytest
from django.db import transaction

from jobqueue.exceptions import InvalidJob
from jobqueue.models import IDEMPOTENCY_KEY_MAX_LENGTH, ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs, age_lock, columns, row

STATES = ["pending", "processing", "succeeded", "dead_letter", "discarded", "cancelled"]


def test_enqueueing_twice_with_one_key_leaves_one_row(queue: Queue) -> None:
    first = queue.enqueue("test.ok", {"try": 1}, idempotency_key="upload 7")
    second = queue.enqueue("test.ok", {"try": 2}, idempotency_key="upload 7")

    assert ProcessingJob.objects.count() == 1
    assert (first.created, second.created) == (True, False)
    assert second.pk == first.pk
    assert second.payload == {"try": 1}


@pytest.mark.parametrize("state", STATES)
def test_a_known_key_answers_with_its_job_in_any_state_and_changes_nothing(
    queue: Queue, jobs: Jobs, state: str
) -> None:
    job = getattr(jobs, state)(idempotency_key="k")
    before = columns(job)

    again = queue.enqueue("test.ok", {"other": True}, idempotency_key="k", priority=-7, max_attempts=1)

    assert (again.pk, again.created) == (job.pk, False)
    assert columns(job) == before


def test_a_key_is_free_again_once_its_job_is_gone(queue: Queue, jobs: Jobs) -> None:
    jobs.succeeded(idempotency_key="k").delete()

    assert queue.enqueue("test.ok", {}, idempotency_key="k").created


def test_a_known_key_of_another_type_is_refused_and_the_transaction_goes_on(queue: Queue, jobs: Jobs) -> None:
    job = jobs.pending("test.sleep", idempotency_key="k")

    with transaction.atomic():
        with pytest.raises(InvalidJob, match=rf"'k' belongs to job {job.pk} of type 'test.sleep', not 'test.ok'"):
            queue.enqueue("test.ok", {}, idempotency_key="k")
        queue.enqueue("test.ok", {})

    assert ProcessingJob.objects.count() == 2


def test_jobs_without_a_key_are_never_the_same(queue: Queue) -> None:
    assert queue.enqueue("test.ok", {}).pk != queue.enqueue("test.ok", {}).pk


def test_keys_differ_by_case_and_by_how_a_letter_is_composed(queue: Queue) -> None:
    keys = ["k", "K", "k ", "\u00e9", "e\u0301"]

    assert len({queue.enqueue("test.ok", {}, idempotency_key=key).pk for key in keys}) == len(keys)


def test_keys_of_the_documented_length_are_told_apart_by_their_last_character(queue: Queue) -> None:
    stem = "k" * (IDEMPOTENCY_KEY_MAX_LENGTH - 1)

    assert queue.enqueue("test.ok", {}, idempotency_key=stem + "a").created
    assert queue.enqueue("test.ok", {}, idempotency_key=stem + "b").created


def test_a_requeue_never_collides_with_a_job_of_the_same_key(queue: Queue, jobs: Jobs) -> None:
    """Q27: a dead letter keeps its key, so there is no second job; nor is there through a retry or a rescue."""
    dead = [jobs.dead_letter(idempotency_key=f"key-{number}", priority=0) for number in range(100)]
    failed, orphan = jobs.processing(idempotency_key="failed"), jobs.processing(idempotency_key="orphan")
    queue.fail(failed, "try again")
    age_lock(orphan)
    for job in [*dead, failed, orphan]:
        again = queue.enqueue(job.job_type, {}, idempotency_key=job.idempotency_key)
        assert (again.pk, again.created) == (job.pk, False)

    decided = queue.requeue_dead_letters([job.pk for job in dead])
    canary = queue.enqueue("test.ok", {}, queue_name="another")

    assert (len(decided.done), decided.refused) == (100, {})
    assert queue.dequeue("w2", queue_names=["another"]).pk == canary.pk  # which also takes the orphan back
    assert (row(failed).status, row(orphan).status) == ("pending", "pending")
    assert ProcessingJob.objects.exclude(idempotency_key=None).count() == 102
