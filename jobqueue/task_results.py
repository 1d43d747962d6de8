"""A job as Django's task API sees it: the task that was enqueued, and its result."""

import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from jobqueue.queue_task import QueueTask
from jobqueue.states import JobStatus, Outcome
from jobqueue.task_api import (
    DEFAULT_TASK_BACKEND_ALIAS,
    AnyTask,
    AnyTaskResult,
    TaskError,
    TaskResult,
    TaskResultStatus,
)

if TYPE_CHECKING:
    from jobqueue.models import ProcessingJob

_STATUS = {
    JobStatus.PENDING: TaskResultStatus.READY,
    JobStatus.PROCESSING: TaskResultStatus.RUNNING,
    JobStatus.SUCCEEDED: TaskResultStatus.SUCCESSFUL,
    JobStatus.DEAD_LETTER: TaskResultStatus.FAILED,
    JobStatus.FAILED: TaskResultStatus.FAILED,
}
#: The first line of a described exception begins with its class.
_CLASS = re.compile(r"[A-Za-z_][\w.<>]*(?=: )")
_SECTION = re.compile(r"^[A-Za-z_][\w.<>]*, most recent call last:\n", flags=re.MULTILINE)


def payload_of(task: AnyTask, declared: AnyTask, args: Any, kwargs: Any) -> dict[str, Any]:
    """Return the payload of the task's job: its arguments, and what its row couldn't tell otherwise."""
    using: dict[str, Any] = {}
    if task.backend != DEFAULT_TASK_BACKEND_ALIAS:
        using["backend"] = task.backend
    if task.run_after is not None:
        using["run_after"] = task.run_after.isoformat()
    if isinstance(task, QueueTask) and isinstance(declared, QueueTask):
        if task.max_attempts != declared.max_attempts:
            using["max_attempts"] = task.max_attempts
        for name in ("timeout", "soft_timeout"):
            if (limit := getattr(task, name)) != getattr(declared, name):
                using[name] = limit / timedelta(seconds=1)
    payload: dict[str, Any] = {"args": args, "kwargs": kwargs}
    return payload | {"using": using} if using else payload


def task_of(job: "ProcessingJob", declared: AnyTask) -> AnyTask:
    """Return the copy of the declared task that was enqueued."""
    using = job.payload.get("using", {})
    changes = {
        "priority": job.priority,
        "queue_name": job.queue_name,
        "backend": using.get("backend", DEFAULT_TASK_BACKEND_ALIAS),
        "run_after": datetime.fromisoformat(using["run_after"]) if "run_after" in using else None,
    }
    if isinstance(declared, QueueTask):
        changes["idempotency_key"] = job.idempotency_key
        changes["max_attempts"] = using.get("max_attempts", declared.max_attempts)
        changes["timeout"], changes["soft_timeout"] = limits_of(job, declared)
    # Not by replace(), which validates: what was enqueued stays what it is when the settings change.
    task = object.__new__(type(declared))
    for field in fields(declared):
        object.__setattr__(task, field.name, changes.get(field.name, getattr(declared, field.name)))
    return task


def limits_of(job: "ProcessingJob", declared: QueueTask) -> tuple[timedelta | None, timedelta | None]:
    """Return the job's hard and soft limit: what ``using()`` named, or else the declaration."""
    using = job.payload.get("using", {})
    hard, soft = (
        timedelta(seconds=using[name]) if name in using else getattr(declared, name)
        for name in ("timeout", "soft_timeout")
    )
    return hard, soft


def result_of(job: "ProcessingJob", declared: AnyTask) -> AnyTaskResult:
    """Return what is known of the task that the job does."""
    attempts = [attempt for attempt in job.history if attempt["outcome"] != Outcome.RELEASED]
    task = task_of(job, declared)
    result = TaskResult(
        task=task,
        id=str(job.pk),
        status=_STATUS[JobStatus(job.status)],
        enqueued_at=job.created_at,
        started_at=_moment(attempts[0]["started_at"]) if attempts else job.started_at,
        last_attempted_at=job.started_at,
        finished_at=_finished_at(job, attempts),
        args=job.payload.get("args", []),
        kwargs=job.payload.get("kwargs", {}),
        backend=task.backend,
        errors=list(_errors(job, attempts)),
        worker_ids=[attempt["worker"] for attempt in attempts] + ([job.locked_by] if job.locked_by else []),
    )
    object.__setattr__(result, "_return_value", job.result)  # as Django's own backends do
    return result


def task_error(text: str, outcome: str = Outcome.FAILED) -> TaskError:
    """Return what Django calls an error, made of a described one (``jobqueue.error_text``)."""
    found = _CLASS.match(text)
    if found:
        path = found[0] if "." in found[0] else f"builtins.{found[0]}"
    elif text.startswith("timed out"):
        path = "jobqueue.exceptions.TimedOut"
    elif outcome == Outcome.WORKER_DIED or text.startswith("the handler's process ended"):
        path = "jobqueue.exceptions.WorkerDied"
    elif outcome == Outcome.CANCELLED or text.startswith("cancelled"):
        path = "jobqueue.exceptions.Cancelled"
    else:
        path = "jobqueue.exceptions.JobQueueError"
    return TaskError(exception_class_path=path, traceback=_as_python_prints_it(text))


def _errors(job: "ProcessingJob", attempts: list[dict[str, Any]]) -> Iterator[TaskError]:
    failed = [attempt for attempt in attempts if attempt["outcome"] != Outcome.SUCCEEDED]
    for attempt in failed:
        # The row has the whole text of the last error, and a line of each.
        whole = attempt is failed[-1] and job.last_error.startswith(attempt["error"])
        text = job.last_error if whole else attempt["error"]
        yield task_error(text or attempt["outcome"], attempt["outcome"])
    if not failed and job.status == JobStatus.FAILED:
        yield task_error(job.last_error, Outcome.CANCELLED)  # before it ever ran


def _finished_at(job: "ProcessingJob", attempts: list[dict[str, Any]]) -> datetime | None:
    # To the queue a dead letter is not final, to Django it is.
    if job.status == JobStatus.DEAD_LETTER and attempts:
        return _moment(attempts[-1]["ended_at"])
    return job.finished_at


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def _as_python_prints_it(text: str) -> str:
    """Return causes first, then frames, then class and message, as readers of tracebacks know it."""
    head, *sections = _SECTION.split(text)
    frames = [f"Traceback (most recent call last):\n{section.rstrip()}\n" for section in reversed(sections)]
    return "\n".join([*frames[:-1], f"{frames[-1] if frames else ''}{head.rstrip()}\n"])
