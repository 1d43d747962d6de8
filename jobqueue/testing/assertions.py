"""Say which jobs must have been enqueued, and be told what was enqueued instead."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from jobqueue import handlers
from jobqueue.models import ProcessingJob

_SHOWN = 20
_LONGEST = 300


def enqueued(what: Any = None, payload: dict[str, Any] | None = None, **columns: Any) -> list[ProcessingJob]:
    """Return the jobs of the active tenant that match, oldest first, whatever became of them.

    Args:
        what: A job type, a handler or a task; None: any.
        payload: What must be in the payload, among other things.
        columns: What other columns of the job must be, such as ``queue_name``. For a task also ``args``, a list, and
            ``kwargs``: all that it was enqueued with.
    """
    wanted = dict(payload or {}) | {name: columns.pop(name) for name in ("args", "kwargs") if name in columns}
    jobs = ProcessingJob.objects.filter(**columns).order_by("id")
    if what is not None:
        jobs = jobs.filter(job_type=_job_type(what))
    absent = object()
    return [job for job in jobs if all(job.payload.get(key, absent) == value for key, value in wanted.items())]


def assert_enqueued(
    what: Any, payload: dict[str, Any] | None = None, *, times: int | None = None, **columns: Any
) -> ProcessingJob:
    """Fail unless such a job was enqueued, and return the latest. The arguments are those of ``enqueued``.

    Args:
        times: How many there must be; None: at least one.
    """
    __tracebackhide__ = True
    jobs = enqueued(what, payload, **columns)
    if not jobs or (times is not None and len(jobs) != times):
        demand = "at least one" if times is None else times
        raise AssertionError(
            f"Enqueued {len(jobs)} times instead of {demand}: {_described(what, payload, columns)}\n"
            f"{what_is_in_the_queue()}"
        )
    return jobs[-1]


def assert_not_enqueued(what: Any = None, payload: dict[str, Any] | None = None, **columns: Any) -> None:
    """Fail if such a job was enqueued; without arguments: if any was."""
    __tracebackhide__ = True
    if jobs := enqueued(what, payload, **columns):
        raise AssertionError(f"Enqueued all the same: {_described(what, payload, columns)}\n{_listed(jobs)}")


def _job_type(what: Any) -> str:
    if isinstance(what, str):
        return what
    for name, handler in handlers.registered().items():
        if _is_done_by(what, handler.function):
            return name
    raise TypeError(f"{what!r} is neither a job type nor a registered handler or task.")


def _is_done_by(what: Any, function: Callable[..., Any]) -> bool:
    # A task and its copies have a function, and so has a task's handler.
    return function is what or getattr(function, "__wrapped__", None) is getattr(what, "func", what)


def _described(what: Any, payload: dict[str, Any] | None, columns: dict[str, Any]) -> str:
    parts = ["a job" if what is None else _job_type(what)]
    if payload:
        parts.append(f"payload with {_json(payload)}")
    parts += [f"{name} {_json(value)}" for name, value in columns.items()]
    return ", ".join(parts)


def what_is_in_the_queue() -> str:
    """Return what a message says about it: its newest jobs."""
    jobs = list(ProcessingJob.objects.order_by("-id")[: _SHOWN + 1])
    return f"What is in the queue:\n{_listed(jobs)}" if jobs else "The queue is empty."


def _listed(jobs: Sequence[ProcessingJob]) -> str:
    lines = [f"  {job}, {job.status}, queue {job.queue_name}, payload {_json(job.payload)}" for job in jobs[:_SHOWN]]
    return "\n".join([*lines, "  and more"] if len(jobs) > _SHOWN else lines)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
