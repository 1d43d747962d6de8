"""Tasks while they run: context, signals, event loop, results; in the test's transaction, and in real workers."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dms_project.tenancy import use
from jobqueue.exceptions import DeadLetter, SoftTimeLimit, UnstorableResult
from jobqueue.handlers import registered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.task_api import TaskResultStatus, task_finished, task_started
from jobqueue.testing import run_jobs
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import TENANTS, BothTenants, Twins
from tests.testjobs import tasks

FAILED, SUCCESSFUL = TaskResultStatus.FAILED, TaskResultStatus.SUCCESSFUL


@pytest.fixture
def told() -> Iterator[list[tuple[str, Any]]]:
    """What the signals of running tasks told, in order."""
    told: list[tuple[str, Any]] = []

    def started(sender: type, task_result: Any, **kwargs: Any) -> None:
        told.append(("started", task_result.status))

    def finished(sender: type, task_result: Any, **kwargs: Any) -> None:
        told.append(("finished", task_result.status))
        raise RuntimeError("a receiver that is broken")

    task_started.connect(started)
    task_finished.connect(finished)
    yield told
    task_started.disconnect(started)
    task_finished.disconnect(finished)


def ran(result: Any) -> Any:
    """Run what is due, and return the task's result."""
    run_jobs(allow_failures=True)
    result.refresh()
    return result


@pytest.mark.parametrize("task", [tasks.add, tasks.add_async])
def test_a_task_runs_and_its_return_value_is_its_result(queue: Queue, task: Any, told: list[Any]) -> None:
    result = ran(task.enqueue(20, other=22))

    assert (result.status, result.return_value, result.attempts) == (SUCCESSFUL, 42, 1)
    assert told == [("started", TaskResultStatus.RUNNING), ("finished", SUCCESSFUL)]


def test_a_task_is_given_its_context_which_is_also_a_handlers(queue: Queue) -> None:
    result = ran(tasks.tell_context.enqueue("k"))

    told = {"key": "k", "id": result.id, "status": "RUNNING", "backend": "default"}
    assert result.return_value == told | {"attempt": 1, "attempts": 1, "held": True}
    assert ProcessingJob.objects.get(pk=result.id).progress == 100


def test_a_failure_is_told_when_it_is_the_last(queue: Queue, told: list[Any]) -> None:
    result = ran(tasks.fail.enqueue("twice"))

    assert (result.status, len(result.errors)) == (FAILED, 2)
    assert told == [("started", TaskResultStatus.RUNNING)] * 2 + [("finished", FAILED)]


@pytest.mark.parametrize(("kind", "attempts", "error"), [("SystemExit", 2, SystemExit), ("useless", 1, DeadLetter)])
def test_whatever_a_task_raises_is_its_error(queue: Queue, kind: str, attempts: int, error: type) -> None:
    result = ran(tasks.fail.enqueue("why", kind))

    assert (result.status, result.attempts, result.errors[-1].exception_class) == (FAILED, attempts, error)


@pytest.mark.parametrize("kind", ["a function", "a set", "NaN", "NUL"])
def test_a_task_whose_result_can_not_be_stored_fails_and_is_not_repeated(queue: Queue, kind: str) -> None:
    """Q03."""
    result = ran(tasks.return_.enqueue(kind))

    assert (result.status, result.attempts) == (FAILED, 1)
    assert result.errors[0].exception_class is UnstorableResult
    assert issubclass(UnstorableResult, TypeError)
    assert "what can't be stored" in result.errors[0].traceback


def test_a_result_is_what_json_makes_of_it(queue: Queue) -> None:
    assert ran(tasks.return_.enqueue("a tuple")).return_value == [1, ["text"]]


@pytest.mark.parametrize("then", ["return", "raise"])
def test_an_async_task_is_cancelled_at_its_soft_limit(queue: Queue, then: str) -> None:
    result = ran(tasks.wait_async.enqueue(then))

    if then == "return":
        assert result.return_value == "cleaned up"
    else:
        assert result.errors[0].exception_class is SoftTimeLimit


@pytest.mark.parametrize("using", [{"timeout": 0.01, "soft_timeout": 5}, {"timeout": "x"}, {"timeout": -1}, "x", 5])
def test_limits_of_no_use_in_a_payload_are_those_of_the_declaration(queue: Queue, using: Any) -> None:
    handler = registered()["tests.testjobs.tasks.add"]
    job = queue.enqueue(handler.job_type, {"args": [1], "kwargs": {}, "using": using})

    assert handler.limits_of(job) == handler.limits


def test_workers_serve_tasks_beside_handlers_in_every_tenant(both: BothTenants, start: Start, tmp_path: Path) -> None:
    """Also isolated ones, async ones, and one whose limit was named when it was enqueued."""
    results: dict[str, dict[str, Any]] = {}
    for tenant in TENANTS:
        with use(tenant):
            results[tenant] = {
                "add": tasks.add.enqueue(1, 2),
                "async": tasks.add_async.enqueue(3, 4),
                "isolated": tasks.pid.enqueue(),
                "hangs": tasks.wait.using(timeout=timedelta(seconds=0.5)).enqueue(str(tmp_path / "never")),
            }
    handled = both.enqueue("test.ok")

    worker = start("--drain", "--concurrency", "4", "--name", "it", variables={"JOBQUEUE_TEST_TASKS": "yes"})

    Twins({tenant: int(results[tenant]["hangs"].id) for tenant in TENANTS}).become("dead_letter")
    worker.status()
    assert handled.are(status="succeeded")
    for tenant in TENANTS:
        with use(tenant):
            for result in results[tenant].values():
                result.refresh()
        assert results[tenant]["add"].return_value == 3
        assert results[tenant]["async"].return_value == 7
        assert results[tenant]["isolated"].return_value not in (worker.pid, None)
        assert results[tenant]["hangs"].errors[0].exception_class.__name__ == "TimedOut"
        assert results[tenant]["add"].worker_ids == ["it"]
