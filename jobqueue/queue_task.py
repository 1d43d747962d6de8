"""What ``@task`` makes where the queue is the backend: Django's ``Task`` with the queue's own options."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Self

from django.utils.module_loading import import_string

from jobqueue import backoff as backoff_policies
from jobqueue.backoff import Backoff
from jobqueue.key_policy import IfKnown
from jobqueue.limits import Isolation, Limits
from jobqueue.task_api import AnyTask, Task

#: What is the declaration's alone: a copy made by ``using()`` can't have another.
_OF_THE_DECLARATION = {"func", "job_type", "backoff", "isolation", "memory_limit_bytes", "cpu_limit"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTask(AnyTask):
    """A task that the queue does. The options below are keyword arguments of ``@task``."""

    #: A stable name; empty: the function's dotted path, so that moving it would strand the jobs that wait.
    job_type: str = ""
    #: None: ``JOBQUEUE["MAX_ATTEMPTS"]``.
    max_attempts: int | None = None
    #: These mean what they mean for ``@job_handler``.
    backoff: Backoff = backoff_policies.default
    timeout: timedelta | None = None
    soft_timeout: timedelta | None = None
    isolation: Isolation = "thread"
    memory_limit_bytes: int | None = None
    cpu_limit: timedelta | None = None
    #: These mean what they mean for ``Queue.enqueue``. The key is for ``using()``: in ``@task`` it would let the task
    #: be enqueued only once.
    idempotency_key: str | None = None
    if_known: IfKnown = "return"
    key_while_active: bool = False
    concurrency_key: str | None = None
    concurrency_limit: int = 1

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        max_attempts: int | None = None,
        timeout: timedelta | None = None,
        soft_timeout: timedelta | None = None,
        idempotency_key: str | None = None,
        if_known: IfKnown | None = None,
        key_while_active: bool | None = None,
        concurrency_key: str | None = None,
        concurrency_limit: int | None = None,
    ) -> Self:
        """Return a copy of the task with other options; None: as before."""
        changes = {name: value for name, value in locals().items() if name != "self" and value is not None}
        return replace(self, **changes)

    @property
    def limits(self) -> Limits:
        """How long the task may run, where, and with how much.

        Raises:
            ValueError: A limit is of no use.
        """
        return Limits(self.timeout, self.soft_timeout, self.isolation, self.memory_limit_bytes, self.cpu_limit)

    def __reduce__(self) -> tuple[Callable[..., AnyTask], tuple[str, dict[str, Any]]]:
        """Pickle the path and what is the copy's own: policies of a declaration needn't be picklable."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _OF_THE_DECLARATION}
        return _copy, (self.module_path, own)


def _copy(path: str, changes: dict[str, Any]) -> AnyTask:
    return replace(import_string(path), **changes)


def declared(task: AnyTask) -> AnyTask:
    """Return the task as ``@task`` made it, of which this may be a copy. While it is being made: itself."""
    bound = getattr(sys.modules.get(task.func.__module__), task.func.__name__, None)
    return bound if isinstance(bound, Task) and bound.func is task.func else task


def job_type_of(task: AnyTask) -> str:
    """Return the type of the task's jobs."""
    return (isinstance(task, QueueTask) and task.job_type) or task.module_path
