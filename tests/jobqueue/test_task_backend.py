"""Django's task API on the queue: what is enqueued, and what is told of it."""

import dataclasses
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection, transaction
from django.test.utils import override_settings

from jobqueue import handlers
from jobqueue.backend import PostgresBackend
from jobqueue.exceptions import InvalidJob, TimedOut, WorkerDied
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.queue_task import QueueTask
from jobqueue.task_api import InvalidTask, TaskResultDoesNotExist, TaskResultStatus, task_backends, task_enqueued
from jobqueue.task_handler import handler_of
from jobqueue.task_results import task_error
from jobqueue.testing import run_jobs
from tests.jobqueue.jobs import Jobs, row
from tests.testjobs import tasks

TOMORROW = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def enqueued(request: pytest.FixtureRequest) -> Any:
    """The results that the signal ``task_enqueued`` told of."""
    told: list[Any] = []

    def tell(sender: type, task_result: Any, **kwargs: Any) -> None:
        assert sender is PostgresBackend
        told.append(task_result)

    task_enqueued.connect(tell)
    yield told
    task_enqueued.disconnect(tell)


def job_of(result: Any) -> ProcessingJob:
    return ProcessingJob.objects.get(pk=result.id)


def test_it_can_all_that_the_api_knows() -> None:
    backend = task_backends["default"]
    assert isinstance(backend, PostgresBackend)
    assert backend.supports_defer
    assert backend.supports_async_task
    assert backend.supports_get_result
    assert backend.supports_priority
    assert list(backend.check()) == []


def test_a_task_becomes_a_job_and_its_result_can_be_had_by_id(queue: Queue, enqueued: list[Any]) -> None:
    result = tasks.add.enqueue(1, other=2)

    job = job_of(result)
    assert (job.job_type, job.payload) == ("tests.testjobs.tasks.add", {"args": [1], "kwargs": {"other": 2}})
    assert (job.queue_name, job.priority, job.max_attempts) == ("default", 0, 5)
    assert (result.status, result.args, result.kwargs) == (TaskResultStatus.READY, [1], {"other": 2})
    assert (result.task, result.backend, result.enqueued_at) == (tasks.add, "default", job.created_at)
    assert (result.started_at, result.finished_at, result.attempts, result.errors) == (None, None, 0, [])
    assert not result.is_finished
    with pytest.raises(ValueError, match="not finished"):
        _ = result.return_value
    assert tasks.add.get_result(result.id) == task_backends["default"].get_result(result.id) == result
    assert enqueued == [result]


def test_options_reach_the_job_and_come_back_with_the_result(queue: Queue) -> None:
    task = tasks.named.using(
        priority=-5, queue_name="other", run_after=TOMORROW, max_attempts=9, idempotency_key="k",
        timeout=timedelta(minutes=2), soft_timeout=timedelta(minutes=1),
    )  # fmt: skip
    result = task.enqueue()

    job = job_of(result)
    assert (job.job_type, job.queue_name, job.priority) == ("test.named", "other", -5)
    assert (job.available_at, job.max_attempts, job.idempotency_key) == (TOMORROW, 9, "k")
    assert result.task == task
    assert result.task != tasks.named
    assert tasks.named.get_result(result.id).task == task

    declared = job_of(tasks.named.enqueue())
    assert (declared.queue_name, declared.priority, declared.max_attempts) == ("slow", 7, 2)
    assert "using" not in declared.payload


def test_a_known_idempotency_key_gives_the_same_task_and_no_signal(queue: Queue, enqueued: list[Any]) -> None:
    first = tasks.add.using(idempotency_key="sum").enqueue(1)
    again = tasks.add.using(idempotency_key="sum").enqueue(2)

    assert again == first
    assert again.args == [1]
    assert len(enqueued) == 1


def test_a_task_exists_exactly_if_its_transaction_commits(queue: Queue) -> None:
    """Q30, Q31."""
    with transaction.atomic():
        result = tasks.add.enqueue(1)
        transaction.set_rollback(True)
    assert not ProcessingJob.objects.exists()
    with pytest.raises(TaskResultDoesNotExist):
        tasks.add.get_result(result.id)
    with pytest.raises(TaskResultDoesNotExist):
        result.refresh()


@pytest.mark.parametrize("bad", ["a\0b", {"k\0": 1}, [["\0"]], "\ud800", float("nan"), {1: 2}])
def test_arguments_that_can_not_be_stored_are_refused_before_any_sql(queue: Queue, bad: Any) -> None:
    """Q01, Q04."""
    for enqueue in (lambda: tasks.add.enqueue(bad), lambda: tasks.add.enqueue(1, other=bad)):
        with transaction.atomic(), pytest.raises(InvalidJob):
            enqueue()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    with pytest.raises(TypeError, match="Unsupported type"):
        tasks.add.enqueue(TOMORROW)
    assert not ProcessingJob.objects.exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"priority": 101}, "priority must be"),
        ({"run_after": datetime(2030, 1, 1)}, "must be an aware"),  # noqa: DTZ001 - naive on purpose
        ({"max_attempts": 0}, "max_attempts is 0"),
        ({"timeout": timedelta(0)}, "timeout is"),
        ({"timeout": timedelta(1), "soft_timeout": timedelta(2)}, "must be shorter"),
    ],
)
def test_an_option_of_no_use_is_refused_when_it_is_named(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidTask, match=reason):
        tasks.add.using(**options)


def test_queues_are_limited_to_those_that_are_named() -> None:
    with (
        override_settings(TASKS={"default": {"BACKEND": "jobqueue.backend.PostgresBackend", "QUEUES": ["a"]}}),
        pytest.raises(InvalidTask, match="Queue 'slow' is not valid"),
    ):
        tasks.named.using(queue_name="slow")


def test_a_task_that_no_worker_would_know_is_refused() -> None:
    backends = {
        "default": {"BACKEND": f"{PostgresBackend.__module__.replace('jobqueue.backend', _DUMMY)}.DummyBackend"},
        "queue": {"BACKEND": "jobqueue.backend.PostgresBackend"},
    }
    with override_settings(TASKS=backends), pytest.raises(InvalidTask, match=r"declare it with @task\(backend='queue'"):
        tasks.add.using(backend="queue")


_DUMMY = f"{type(task_backends).__module__}.backends.dummy"


def test_what_is_no_task_here_has_no_result(queue: Queue, jobs: Jobs) -> None:
    handled = jobs.pending("test.ok")
    unknown = jobs.pending("test.unknown")
    for id_ in (handled.pk, str(unknown.pk), "0", "-1", "1.5", "x", "", "9" * 30, "²"):
        with pytest.raises(TaskResultDoesNotExist):
            task_backends["default"].get_result(id_)


def test_it_works_from_async_code(queue: Queue) -> None:
    async def enqueue() -> Any:
        result = await tasks.add.aenqueue(3, other=4)
        await result.arefresh()
        return await tasks.add.aget_result(result.id)

    assert async_to_sync(enqueue)().args == [3]


def test_tasks_and_results_can_be_pickled(queue: Queue) -> None:
    task = tasks.named.using(priority=3, max_attempts=4)
    assert pickle.loads(pickle.dumps(task)) == task
    result = task.enqueue()
    assert pickle.loads(pickle.dumps(result)) == result
    assert isinstance(task, QueueTask)


def test_every_state_of_a_job_is_a_status_of_its_task(queue: Queue) -> None:
    result = tasks.named.enqueue()

    def status() -> tuple[Any, ...]:
        result.refresh()
        return (result.status, result.attempts, len(result.errors), result.finished_at is not None)

    job = queue.dequeue("w1")
    assert status() == (TaskResultStatus.RUNNING, 1, 0, False)
    assert queue.fail(job, ValueError("one")) == "pending"
    assert status() == (TaskResultStatus.READY, 1, 1, False)
    job = queue.dequeue("w2")
    queue.release([job])
    assert status() == (TaskResultStatus.READY, 1, 1, False)
    job = queue.dequeue("w3")
    assert status() == (TaskResultStatus.RUNNING, 2, 1, False)
    assert queue.fail(job, ValueError("two")) == "dead_letter"
    assert status() == (TaskResultStatus.FAILED, 2, 2, True)
    assert result.worker_ids == ["w1", "w3"]
    assert result.enqueued_at <= result.started_at < result.last_attempted_at <= result.finished_at
    queue.requeue_dead_letter(job.pk)
    assert status() == (TaskResultStatus.READY, 2, 2, False)
    queue.complete(queue.dequeue("w4"), {"a": 1})
    assert status() == (TaskResultStatus.SUCCESSFUL, 3, 2, True)
    assert result.return_value == {"a": 1}

    cancelled = tasks.named.enqueue()
    assert queue.cancel(int(cancelled.id))
    cancelled.refresh()
    assert (cancelled.status, cancelled.errors[0].exception_class.__name__) == (TaskResultStatus.FAILED, "Cancelled")
    with pytest.raises(ValueError, match="Task failed"):
        _ = cancelled.return_value


def test_errors_tell_class_and_traceback_as_python_prints_them(queue: Queue) -> None:
    result = tasks.fail.enqueue("no: luck")
    run_jobs(allow_failures=True)

    result.refresh()
    first, last = result.errors
    assert first.exception_class is last.exception_class is ValueError
    assert first.traceback == "ValueError: no: luck\n"
    assert last.traceback.endswith("ValueError: no: luck\n")
    assert last.traceback.count("Traceback (most recent call last):\n") == 2
    assert "/jobqueue/" not in last.traceback  # the way to the function is the queue's own business
    assert last.traceback.index('KeyError("first")') < last.traceback.index("ValueError(message)")
    assert row(job_of(result)).status == "dead_letter"


@pytest.mark.parametrize(
    ("text", "outcome", "kind"),
    [
        ("timed out after 2 s\n\nThe thread was here", "failed", TimedOut),
        ("worker died", "worker_died", WorkerDied),
        ("the handler's process ended with SIGSEGV", "failed", WorkerDied),
        ("django.db.utils.DataError: bad", "failed", None),
    ],
)
def test_an_attempt_that_was_ended_from_outside_has_a_class_too(text: str, outcome: str, kind: Any) -> None:
    error = task_error(text, outcome)
    assert error.exception_class is kind or (kind is None and error.exception_class.__name__ == "DataError")
    assert text.partition("\n")[0] in error.traceback


def test_what_would_keep_the_backend_from_working_is_said_at_start_up() -> None:
    def ids(**params: Any) -> list[str | None]:
        return [error.id for error in PostgresBackend("default", params).check()]

    with override_settings(INSTALLED_APPS=["django.contrib.contenttypes"]):
        assert ids() == ["jobqueue.E003"]
    assert ids(OPTIONS={"queue": "x"}) == ["jobqueue.E004"]
    tasks.add.using()  # makes it known
    long = dataclasses.replace(tasks.add, job_type="x" * 101)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(handlers, "_handlers", {"x" * 101: handler_of(long, PostgresBackend)})
        assert ids() == ["jobqueue.E005"]
