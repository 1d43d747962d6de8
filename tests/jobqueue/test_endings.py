"""How an attempt ends: success, failure, release, and what each leaves in the row."""

import math
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from jobqueue.backoff import constant
from jobqueue.error_text import MAX_BYTES
from jobqueue.exceptions import NotDeadLettered
from jobqueue.handlers import job_handler
from jobqueue.json_values import RESULT_MAX_BYTES, UNSTORABLE
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.history import MAX_ENTRIES
from tests.jobqueue.jobs import Jobs, age_lock, columns, row


def test_success_records_the_result_and_the_time(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    queue.complete(job, {"pages": 3})

    done = row(job)
    assert (done.status, done.result, done.attempts, done.last_error) == ("succeeded", {"pages": 3}, 1, "")
    assert done.finished_at is not None
    assert done.finished_at >= done.started_at
    assert (done.locked_at, done.locked_by, done.holder_key) == (None, None, None)


@pytest.mark.parametrize("result", [None, 0, "", [], {"a": [1.5, None, "ü"]}, False])
def test_a_result_comes_back_as_it_was_given(queue: Queue, jobs: Jobs, result: Any) -> None:
    job = jobs.processing()
    queue.complete(job, result)

    assert row(job).result == result


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("x\0", "NUL"),
        ({"a": math.nan}, "not JSON compliant"),
        ({1, 2}, "set"),
        (ProcessingJob(), "ProcessingJob"),
        ("\ud800", "surrogate"),
        ("x" * RESULT_MAX_BYTES, "bytes as JSON"),
        (circle := [], "contains itself"),
    ],
)
def test_a_result_that_cannot_be_stored_is_replaced_by_a_note_and_the_job_has_succeeded(
    queue: Queue, jobs: Jobs, result: Any, reason: str
) -> None:
    circle.append(circle) if result is circle and not circle else None
    job = jobs.processing()
    queue.complete(job, result)

    done = row(job)
    assert done.status == "succeeded"
    assert done.result[UNSTORABLE] == type(result).__name__
    assert reason in done.result["reason"]


def test_a_failure_with_attempts_left_waits_for_the_default_backoff(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(job_type="test.unknown")

    assert queue.fail(job, "boom") == "pending"

    failed = row(job)
    assert (failed.status, failed.attempts, failed.last_error, failed.finished_at) == ("pending", 1, "boom", None)
    assert (failed.locked_at, failed.locked_by, failed.lock_token, failed.holder_key) == (None,) * 4
    in_30_s = ProcessingJob.objects.filter(
        available_at__lte=Now() + timedelta(seconds=30), available_at__gt=Now() + timedelta(seconds=20)
    )
    assert in_30_s.get().pk == job.pk


def test_a_job_type_may_bring_its_own_backoff(queue: Queue, jobs: Jobs) -> None:
    job_handler("test.endings.hourly", backoff=constant(timedelta(hours=1)))(lambda context: None)
    job = jobs.processing(job_type="test.endings.hourly")
    queue.fail(job, "boom")

    assert ProcessingJob.objects.filter(available_at__gt=Now() + timedelta(minutes=59)).exists()


def test_the_last_attempt_that_fails_is_a_dead_letter(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(max_attempts=2)
    assert queue.fail(job, "first") == "pending"

    assert queue.fail(jobs.claim(job), "second") == "dead_letter"

    dead = row(job)
    assert (dead.status, dead.attempts, dead.last_error) == ("dead_letter", 2, "second")
    assert (dead.finished_at, dead.locked_at, dead.locked_by) == (None, None, None)


def test_a_failure_that_no_retry_can_help_is_a_dead_letter_at_once(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(max_attempts=9)

    assert queue.fail(job, "no use", retry=False) == "dead_letter"
    assert (row(job).status, row(job).attempts) == ("dead_letter", 1)


def test_an_error_is_kept_with_class_message_and_traceback(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    try:
        raise KeyError("missing") from ValueError("deeper")
    except KeyError as error:
        queue.fail(job, error)

    text = row(job).last_error
    assert text.splitlines()[0] == "KeyError: 'missing'"
    assert __file__ in text
    assert "ValueError" in text


@pytest.mark.parametrize(
    "error",
    [
        "nul \0 and surrogate \ud800",
        ValueError("nul \0 and surrogate \udfff"),
        ValueError("x" * 1_000_000),
        "ü" * 1_000_000,
        "",
        BaseException(),
    ],
    ids=["text", "exception", "long", "long in UTF-8", "empty", "base"],
)
def test_an_error_can_always_be_stored_and_is_bounded(queue: Queue, jobs: Jobs, error: BaseException | str) -> None:
    job = jobs.processing()
    queue.fail(job, error)

    stored = row(job)
    assert 1 <= len(stored.last_error.encode()) <= MAX_BYTES
    assert len(stored.history[-1]["error"]) <= 500


def test_a_released_job_is_due_as_before_and_the_attempt_is_given_back(queue: Queue, jobs: Jobs) -> None:
    before = columns(jobs.pending())
    job = queue.dequeue("w1", queue_names=["default"])

    assert queue.release([job]) == [job]

    after = columns(job)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"started_at", "history"}
    assert after["history"][0]["outcome"] == "released"


def test_a_job_on_its_last_attempt_can_be_released(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(max_attempts=1)
    queue.release([job])

    assert jobs.claim(job).attempts == 1


def test_a_dead_letter_can_be_requeued_and_runs_again_from_zero(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(max_attempts=1, job_type="test.unknown")
    queue.fail(job, "boom")

    queue.requeue_dead_letter(job.pk)

    again = row(job)
    assert (again.status, again.attempts, again.last_error) == ("pending", 0, "boom")
    assert ProcessingJob.objects.filter(pk=job.pk, available_at__lte=Now()).exists()
    assert [entry["outcome"] for entry in again.history] == ["failed"]
    assert jobs.claim(job).attempts == 1


@pytest.mark.parametrize("state", ["pending", "processing", "succeeded", "discarded", "cancelled"])
def test_nothing_but_a_dead_letter_can_be_requeued(queue: Queue, jobs: Jobs, state: str) -> None:
    job = getattr(jobs, state)()
    before = columns(job)

    with pytest.raises(NotDeadLettered, match=rf"Job {job.pk} is {before['status']}, not dead_letter"):
        queue.requeue_dead_letter(job.pk)
    assert columns(job) == before


def test_a_discarded_dead_letter_is_final_and_keeps_its_error(queue: Queue, jobs: Jobs) -> None:
    job = jobs.discarded()

    assert (row(job).status, row(job).last_error) == ("failed", "no use")
    assert row(job).finished_at is not None


def test_cancelling_ends_a_waiting_job_and_one_that_runs(queue: Queue, jobs: Jobs) -> None:
    waiting, running = jobs.pending(), jobs.processing()

    assert queue.cancel(waiting.pk) is True
    assert queue.cancel(running.pk) is True
    assert [entry["outcome"] for entry in row(running).history] == ["cancelled"]
    assert row(waiting).history == []
    for job in (waiting, running):
        assert (row(job).status, row(job).last_error) == ("failed", "cancelled")
        assert row(job).finished_at is not None


def test_the_history_tells_each_attempt_in_order(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing("w1")
    queue.fail(job, ValueError("boom"))
    queue.release([jobs.claim(job, "w2")])
    age_lock(jobs.claim(job, "w3"))
    queue.complete(queue.dequeue("w4"))

    history = row(job).history
    assert [(entry["attempt"], entry["worker"], entry["outcome"], entry["error"]) for entry in history] == [
        (1, "w1", "failed", "ValueError: boom"),
        (2, "w2", "released", ""),
        (2, "w3", "worker_died", "worker died"),
        (3, "w4", "succeeded", ""),
    ]
    assert all(entry["started_at"] <= entry["ended_at"] for entry in history)


def test_the_history_is_bounded_and_keeps_the_latest(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(max_attempts=100)
    for attempt in range(1, MAX_ENTRIES + 10):
        queue.fail(job, "x" * 10_000)
        job = jobs.claim(job)
        assert job.attempts == attempt + 1

    attempts = [entry["attempt"] for entry in row(job).history]
    assert attempts == list(range(10, MAX_ENTRIES + 10))


def test_renewing_moves_the_lock_and_nothing_else(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    age_lock(job, timedelta(seconds=30))
    before = columns(job)

    assert queue.renew([job]) == [job]

    after = columns(job)
    assert {name for name in before if before[name] != after[name]} == {"locked_at"}
    assert ProcessingJob.objects.filter(locked_at__gt=F("started_at")).exists()
