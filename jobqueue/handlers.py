"""Which callable does the work of which job type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jobqueue import backoff as backoff_policies
from jobqueue.backoff import Backoff

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


HandlerFunction = Callable[[JobContext], Any]


@dataclass(frozen=True)
class Handler:
    """A job type as its ``@job_handler`` declared it."""

    job_type: str
    function: HandlerFunction
    max_attempts: int | None
    backoff: Backoff


_handlers: dict[str, Handler] = {}


def job_handler(
    job_type: str, *, max_attempts: int | None = None, backoff: Backoff = backoff_policies.default
) -> Callable[[HandlerFunction], HandlerFunction]:
    """Register the decorated function as the handler of ``job_type``.

    It is called with a ``JobContext``. What it returns is the job's result; raising fails the attempt.

    Args:
        job_type: A stable name such as ``"documents.process"``, never a path of code: rows outlive refactoring.
        max_attempts: For jobs enqueued without a number of their own; None: ``JOBQUEUE["MAX_ATTEMPTS"]``.
        backoff: When a failed attempt is followed by the next.

    Raises:
        ValueError: Another function has this job type.
    """

    def register(function: HandlerFunction) -> HandlerFunction:
        known = _handlers.get(job_type)
        if known is not None and _origin(known.function) != _origin(function):
            raise ValueError(f"Job type {job_type!r} already has a handler, {_origin(known.function)}.")
        _handlers[job_type] = Handler(job_type, function, max_attempts, backoff)
        return function

    return register


def registered() -> Mapping[str, Handler]:
    """Return the handlers of this process by job type."""
    return MappingProxyType(_handlers)


def _origin(function: HandlerFunction) -> str:
    return f"{function.__module__}.{function.__qualname__}"
