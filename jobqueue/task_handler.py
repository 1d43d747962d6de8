"""The handler of a task's jobs: calls the task's function the way Django's task API promises."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import update_wrapper
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from jobqueue import backoff as backoff_policies
from jobqueue.error_text import describe
from jobqueue.event_loop import OnEventLoop
from jobqueue.exceptions import Cancelled, DeadLetter, UnstorableResult
from jobqueue.handlers import Handler, JobContext
from jobqueue.json_values import RESULT_MAX_BYTES, encode
from jobqueue.limits import Limits
from jobqueue.queue_task import QueueTask, job_type_of
from jobqueue.task_api import (
    AnyTask,
    AnyTaskContext,
    AnyTaskResult,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from jobqueue.task_results import limits_of, result_of, task_error

if TYPE_CHECKING:
    from jobqueue.models import ProcessingJob


@dataclass(frozen=True)
class QueueTaskContext(JobContext, AnyTaskContext):  # type: ignore[misc]  # it is frozen, whatever the stubs say
    """What a task with ``takes_context=True`` is given: Django's context, and all that a handler's can do."""

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1; counted anew after a requeue."""
        return self.job.attempts


@dataclass(frozen=True)
class TaskHandler(Handler):
    """A task's, as its ``@task`` declared it."""

    task: AnyTask

    def limits_of(self, job: "ProcessingJob") -> Limits:
        """Return the limits of the type, or those that ``using()`` named when this job was enqueued."""
        if "using" not in job.payload or not isinstance(self.task, QueueTask):
            return self.limits
        try:
            timeout, soft_timeout = limits_of(job, self.task)
            limits = replace(self.limits, timeout=timeout, soft_timeout=soft_timeout)
        except (TypeError, ValueError, AttributeError, ArithmeticError):
            return self.limits  # enqueued by hand, or declared otherwise since: not worth a worker's thread
        return _for_the_thread(self.task, limits)


def handler_of(task: AnyTask, backend: type) -> TaskHandler:
    """Return the handler of a declared task's jobs.

    Args:
        task: As it was declared.
        backend: The sender of the task's signals.

    Raises:
        ValueError: A limit is of no use.
    """
    call = update_wrapper(_Call(task, backend), task.func)
    if isinstance(task, QueueTask):
        limits = _for_the_thread(task, task.limits)
        return TaskHandler(job_type_of(task), call, task.max_attempts, task.backoff, limits, task)
    return TaskHandler(job_type_of(task), call, None, backoff_policies.default, Limits(), task)


def _for_the_thread(task: AnyTask, limits: Limits) -> Limits:
    # The loop that a coroutine runs on keeps its soft limit: an exception in this thread, which waits, would not do.
    return replace(limits, soft_timeout=None) if iscoroutinefunction(task.func) else limits


class _Call:
    """Calls the task of a job, and sends its signals. A receiver that raises is logged, and changes nothing."""

    __wrapped__: Callable[..., Any]

    def __init__(self, task: AnyTask, backend: type) -> None:
        self._task = task
        self._backend = backend

    def __call__(self, context: JobContext) -> Any:
        result = result_of(context.job, self._task)
        task_started.send_robust(sender=self._backend, task_result=result)
        try:
            value = _storable(self._run(context, result))
        except BaseException as error:
            if _is_last(context.job, error):
                result.errors.append(task_error(describe(error)))
                self._finished(result, TaskResultStatus.FAILED)
            raise
        object.__setattr__(result, "_return_value", value)
        self._finished(result, TaskResultStatus.SUCCESSFUL)
        return value

    def _run(self, context: JobContext, result: AnyTaskResult) -> Any:
        function = self._task.func
        args, kwargs = result.args, result.kwargs
        if self._task.takes_context:
            args = [QueueTaskContext(context.job, context.queue, task_result=result), *args]
        if not iscoroutinefunction(function):
            return function(*args, **kwargs)
        task = result.task
        soft = task.soft_timeout.total_seconds() if isinstance(task, QueueTask) and task.soft_timeout else None
        return OnEventLoop(soft)(function, *args, **kwargs)

    def _finished(self, result: AnyTaskResult, status: TaskResultStatus) -> None:
        object.__setattr__(result, "status", status)
        object.__setattr__(result, "finished_at", timezone.now())
        task_finished.send_robust(sender=self._backend, task_result=result)


def _is_last(job: "ProcessingJob", error: BaseException) -> bool:
    """Return whether this failure will be the job's end. What was cancelled is not the attempt's to tell."""
    if isinstance(error, Cancelled):
        return False
    return isinstance(error, DeadLetter) or job.attempts >= job.max_attempts


def _storable(value: Any) -> Any:
    try:
        normal = normalize_json(value)
        encode(normal, max_bytes=RESULT_MAX_BYTES)
    except (TypeError, ValueError, RecursionError) as error:  # NotStorable is a ValueError
        raise UnstorableResult(f"the task returned what can't be stored: {error}") from error
    return normal
