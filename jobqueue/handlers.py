"""Which callable does the work of which job type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jobqueue import backoff as backoff_policies
from jobqueue.backoff import Backoff
from jobqueue.limits import Isolation, Limits

if TYPE_CHECKING:
    from jobqueue.models import ProcessingJob
    from jobqueue.queue import Queue


@dataclass(frozen=True)
class JobContext:
    """What a handler is given: the job as it was claimed, and the questions it may ask while it runs."""

    job: ProcessingJob
    queue: Queue

    @property
    def payload(self) -> dict[str, Any]:
        """The payload the job was enqueued with."""
        payload: dict[str, Any] = self.job.payload
        return payload

    def hold(self) -> None:
        """Make sure that this claim holds until the current transaction ends; call it first in the one that writes.

        Raises:
            LockLost: The job was given to another worker or cancelled; let it roll the transaction back.
        """
        self.queue.hold(self.job)

    def still_held(self) -> bool:
        """Return whether this claim still holds; ask before an expensive or irreversible step."""
        return self.queue.still_held(self.job)

    def progress(self, percent: int) -> None:
        """Record how far the job is, 0 to 100. Inside a transaction others see it when that commits.

        Raises:
            LockLost: The job was given to another worker or cancelled.
        """
        self.queue.report_progress(self.job, percent)

    def results_before(self) -> Sequence[Any]:
        """Return what the jobs returned that this step of a flow waited for, in the order of the plan; else nothing.

        None stands for a job that returned none, or whose row was removed meanwhile.
        """
        return self.queue.results_before(self.job)

    def complete(self, result: Any = None) -> None:
        """Record success now: inside a transaction, exactly if that commits. So its work is done exactly once.

        What the handler returns afterwards is of no account. If it raises in the same transaction, both are rolled
        back and the attempt fails as ever.

        Args:
            result: As a handler returns it.

        Raises:
            LockLost: The job was given to another worker or cancelled; let it roll the transaction back.
        """
        self.queue.complete(self.job, result)


HandlerFunction = Callable[[JobContext], Any]


@dataclass(frozen=True)
class Handler:
    """A job type as its ``@job_handler`` declared it."""

    job_type: str
    function: HandlerFunction
    max_attempts: int | None
    backoff: Backoff
    limits: Limits

    def limits_of(self, job: ProcessingJob) -> Limits:
        """Return the limits that this job runs under: its type's."""
        return self.limits


_handlers: dict[str, Handler] = {}


def job_handler(
    job_type: str,
    *,
    max_attempts: int | None = None,
    backoff: Backoff = backoff_policies.default,
    timeout: timedelta | None = None,
    soft_timeout: timedelta | None = None,
    isolation: Isolation = "thread",
    memory_limit_bytes: int | None = None,
    cpu_limit: timedelta | None = None,
) -> Callable[[HandlerFunction], HandlerFunction]:
    """Register the decorated function as the handler of ``job_type``.

    It is called with a ``JobContext``. What it returns is the job's result; raising fails the attempt.

    Args:
        job_type: A stable name such as ``"documents.process"``, never a path of code: rows outlive refactoring.
        max_attempts: For jobs enqueued without a number of their own; None: ``JOBQUEUE["MAX_ATTEMPTS"]``.
        backoff: When a failed attempt is followed by the next.
        timeout: After so long the attempt is failed, whatever the handler does. A thread that hangs is left behind, a
            process killed. None: ``JOBQUEUE["TIMEOUT"]``; ``timedelta.max``: no limit.
        soft_timeout: After so long ``SoftTimeLimit`` is raised inside the handler, so that it can clean up. A thread
            that waits in a call into C gets it when that returns.
        isolation: ``"process"``: in a process of its own, whose crash is nobody else's.
        memory_limit_bytes: How much memory that process may take beyond what it begins with.
        cpu_limit: How long that process may compute; in whole seconds, rounded up.

    Raises:
        ValueError: Another function has this job type, or a limit is of no use.
    """
    try:
        limits = Limits(timeout, soft_timeout, isolation, memory_limit_bytes, cpu_limit)
    except ValueError as error:
        raise ValueError(f"Job type {job_type!r}: {error}") from None

    def decorate(function: HandlerFunction) -> HandlerFunction:
        register(Handler(job_type, function, max_attempts, backoff, limits))
        return function

    return decorate


def register(handler: Handler) -> None:
    """Let the handler do the jobs of its type in this process.

    Raises:
        ValueError: Another function has this job type.
    """
    known = _handlers.get(handler.job_type)
    if known is not None and _origin(known.function) != _origin(handler.function):
        raise ValueError(f"Job type {handler.job_type!r} already has a handler, {_origin(known.function)}.")
    _handlers[handler.job_type] = handler


def registered() -> Mapping[str, Handler]:
    """Return the handlers of this process by job type."""
    return MappingProxyType(_handlers)


def _origin(function: HandlerFunction) -> str:
    return f"{function.__module__}.{function.__qualname__}"
