"""Schedules, declared in code: what is enqueued again and again, by every worker together and by nobody in particular.

``schedule("shop.report", cron("0 6 * * 1", "Europe/Berlin"), send_report)`` in an app's ``jobs.py`` or ``tasks.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from jobqueue.timetables import Cron, Every, Timetable

if TYPE_CHECKING:
    from jobqueue.queue import Queue
    from jobqueue.specs import JobSpec

_NAME_MAX_LENGTH = 100
_TIMETABLE_MAX_LENGTH = 200


@dataclass(frozen=True)
class Schedule:
    """What is enqueued, and when; made by ``schedule``."""

    name: str
    when: Timetable
    what: Any
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] | None = None
    overlap: bool = True
    tenants: Sequence[str] | None = None

    @property
    def job_type(self) -> str:
        """The type of its jobs."""
        return str(getattr(self.what, "job_type", "") or self.what.module_path)

    def enqueue(self, queue: Queue, key: str) -> int:
        """Enqueue it once for this idempotency key, and return the job's id."""
        if hasattr(self.what, "using"):  # a task
            task = self.what.using(idempotency_key=key)
            return int(task.enqueue(*self.args, **(self.kwargs or {})).id)
        spec: JobSpec = replace(self.what, idempotency_key=key)
        return queue.enqueue_many([spec])[0].pk


_schedules: dict[str, Schedule] = {}


def cron(expression: str, timezone: str = "UTC") -> Cron:
    """Return the times of a cron expression of five fields (minute, hour, day of month, month, day of week).

    Args:
        expression: As Debian's cron takes it, with names of months and days, ``L`` and ``MON#2``.
        timezone: Such as ``"Europe/Berlin"``.

    Raises:
        ValueError: There is no such time or time zone.
    """
    return Cron(expression, timezone)


def every(interval: timedelta) -> Every:
    """Return the multiples of an interval since 1970 in UTC: each quarter of an hour at :00, :15, :30 and :45.

    Raises:
        ValueError: It is no whole number of seconds, or none.
    """
    return Every(interval)


def schedule(
    name: str,
    when: Timetable,
    what: Any,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    overlap: bool = True,
    tenants: Sequence[str] | None = None,
) -> Schedule:
    """Let workers enqueue something at each of these times: one job for each.

    After an outage the latest time that was missed is made up for, and no other. A new schedule, and one whose times
    are changed, begins with its next time.

    Args:
        name: A stable name, at most 100 characters; by it the queue remembers which times are done.
        when: ``cron(...)`` or ``every(...)``.
        what: A task, with options by its ``using()``; or a ``JobSpec``.
        args: Of the task.
        kwargs: Of the task.
        overlap: False: a time is left out while the job of the one before is unfinished.
        tenants: In which of them a job is enqueued; None: in each.

    Raises:
        ValueError: Another schedule has this name, it is too long, or ``tenants`` is a single text.
    """
    if isinstance(tenants, str):
        raise ValueError(f"tenants must be a list of names, not the text {tenants!r}.")
    allowed = None if tenants is None else tuple(tenants)
    made = Schedule(name, when, what, tuple(args), dict(kwargs or {}), overlap, allowed)
    if not 1 <= len(name) <= _NAME_MAX_LENGTH:
        raise ValueError(f"The schedule's name {name!r} must have 1 to {_NAME_MAX_LENGTH} characters.")
    if len(str(when)) > _TIMETABLE_MAX_LENGTH:
        raise ValueError(f"The times of schedule {name!r} take more than {_TIMETABLE_MAX_LENGTH} characters.")
    if _schedules.get(name, made) != made:
        raise ValueError(f"There is another schedule called {name!r}.")
    _schedules[name] = made
    return made


def declared() -> Mapping[str, Schedule]:
    """Return the schedules of this process by name."""
    return MappingProxyType(_schedules)


def declared_in(tenant: str) -> dict[str, Schedule]:
    """Return the schedules of this process that are a tenant's, by name."""
    return {name: each for name, each in _schedules.items() if each.tenants is None or tenant in each.tenants}
