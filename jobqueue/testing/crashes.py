"""Let a worker die in a test, at a moment of the test's choice."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction
from pkgutil import resolve_name
from typing import Any, Literal
from unittest.mock import patch

from jobqueue import handlers
from jobqueue.error_text import summary
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.testing.assertions import what_is_in_the_queue
from jobqueue.testing.running import WORKER, JobsFailed, attempt, told

Moment = Literal["claimed", "handling", "handled"]


class WorkerDied(BaseException):
    """Raised inside a handler where its worker dies; ``except Exception`` doesn't catch it."""


def crash_worker(
    moment: Moment,
    *,
    before: str | None = None,
    after: str | None = None,
    job_types: Sequence[str] | None = None,
    queue_names: Sequence[str] | None = None,
    using: str = "default",
) -> ProcessingJob:
    """Let a worker claim the next due job of the active tenant and die with it.

    The job stays as such a death leaves it: locked, with the attempt counted. When its lock is stale, ``run_jobs``
    takes it back: ``let_pass(timedelta(minutes=2))``.

    Args:
        moment: ``"claimed"``: before its handler begins. ``"handling"``: in the handler, at a call that ``before`` or
            ``after`` names; transactions that are open then are rolled back. ``"handled"``: when the handler has
            returned, before that is recorded.
        before: Dotted path of a function that the handler calls: the worker dies when it is called.
        after: The same: the worker dies when it has returned.
        job_types: Only these; None: all that have a handler.
        queue_names: Only from these queues; None: any.
        using: Alias of the database.

    Returns:
        The job as its row says after the death.

    Raises:
        AssertionError: No job is due, or the handler ended without that call.
        JobsFailed: The handler failed before its worker could die.
        ValueError: The moment is none of these, or no call is named where one is needed.
    """
    call = _call(moment, before, after)
    queue = Queue(using)
    types = list(handlers.registered()) if job_types is None else job_types
    jobs = queue.dequeue_many(WORKER, 1, types, queue_names)
    if not jobs:
        raise AssertionError(f"No job is due, so no worker can die with one. {what_is_in_the_queue()}")
    (job,) = jobs
    if moment == "handling":
        _die_in_handler(queue, job, call, dies_before=before is not None)
    elif moment == "handled":
        ending = attempt(queue, job)
        if ending.failure:
            raise JobsFailed(told([ending], {}))
    return queue.get(job.pk)


def _call(moment: str, before: str | None, after: str | None) -> str:
    if moment not in ("claimed", "handling", "handled"):
        raise ValueError(f"{moment!r} is no moment to die at: say 'claimed', 'handling' or 'handled'.")
    if (moment == "handling") != ((before is None) != (after is None)):
        raise ValueError(
            "To die in a handler needs one call, as in crash_worker('handling', before='shop.mail.send'); "
            "the other moments need none."
        )
    return before or after or ""


def _die_in_handler(queue: Queue, job: ProcessingJob, call: str, *, dies_before: bool) -> None:
    with _deadly(call, dies_before=dies_before):
        ending = attempt(queue, job)
    if ending.failure and ending.failure.kind == WorkerDied.__name__:
        return
    how = f"It failed: {summary(ending.failure.text)}" if ending.failure else "It succeeded."
    raise AssertionError(f"The handler of {job} ended without calling {call}, so its worker did not die there. {how}")


@contextmanager
def _deadly(path: str, *, dies_before: bool) -> Iterator[None]:
    function: Callable[..., Any] = resolve_name(path)

    @wraps(function)
    def die(*args: Any, **kwargs: Any) -> Any:
        if not dies_before:
            function(*args, **kwargs)
        raise WorkerDied

    @wraps(function)
    async def die_in_coroutine(*args: Any, **kwargs: Any) -> Any:
        if not dies_before:
            await function(*args, **kwargs)
        raise WorkerDied

    with patch(path, die_in_coroutine if iscoroutinefunction(function) else die):
        yield
