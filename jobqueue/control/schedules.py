"""The schedules of the active tenant: when each is due, what it last enqueued, and why it enqueues nothing, if so."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.translation import gettext

from jobqueue.models import JobSchedule
from jobqueue.schedules import declared, declared_in
from jobqueue.tenant_source import current_tenant
from jobqueue.timetables import Cron, parse
from jobqueue.worker.scheduled_jobs import LATE, pause, resume

#: More are not looked at.
_MOST = 1_000


@dataclass(frozen=True)
class ScheduleState:
    """A schedule, of code or made in the admin."""

    name: str
    #: Without its time zone.
    timetable: str
    zone: str
    job_type: str
    paused: bool
    next_at: datetime | None
    last_at: datetime | None
    #: Finished jobs are removed: there may be none with this id.
    last_job_id: int | None
    #: Why nothing is enqueued, for people; empty if all is well.
    problem: str
    #: False: no worker has looked at it yet, and nobody can pause it.
    has_begun: bool = True


def schedule_states(using: str) -> list[ScheduleState]:
    """Return them by name; also those of code in which no worker has looked yet."""
    rows = JobSchedule.objects.using(using).order_by("name")[:_MOST]
    states = [_state(row) for row in rows]
    begun = {state.name for state in states}
    states += [
        ScheduleState(
            name, *_times(str(each.when)), each.job_type, False, None, None, None,
            gettext("no worker has looked at it yet"), has_begun=False,
        )
        for name, each in declared_in(current_tenant()).items()
        if name not in begun
    ]  # fmt: skip
    return sorted(states, key=lambda state: state.name)


def problem(row: JobSchedule) -> str:
    """Return why a schedule enqueues nothing, for people; empty if all is well."""
    if row.paused:
        return gettext("paused")
    if not row.job_type and row.name not in declared():
        return gettext("not in this program's code: nothing enqueues it, and it can be deleted")
    if row.problem:
        return gettext("could not be enqueued: %s") % row.problem
    if row.next_at and row.next_at < timezone.now() - LATE:
        return gettext("is late: does a worker run?")
    return ""


def set_paused(using: str, names: Iterable[str], *, paused: bool) -> list[JobSchedule]:
    """Pause schedules, or let paused ones go on with their next time; return those that were changed."""
    rows = JobSchedule.objects.using(using).filter(name__in=list(names))
    return pause(rows) if paused else resume(rows)


def _state(row: JobSchedule) -> ScheduleState:
    schedule = declared().get(row.name)
    job_type = row.job_type or (schedule.job_type if schedule else "")
    times, zone = _times(row.timetable)
    return ScheduleState(
        row.name, times, zone, job_type, row.paused, row.next_at, row.last_at, row.last_job_id, problem(row)
    )


def _times(text: str) -> tuple[str, str]:
    try:
        timetable = parse(text)
    except (ValueError, ImproperlyConfigured):  # written by hand, or the package for cron is missing
        return text, ""
    return (timetable.expression, timetable.timezone) if isinstance(timetable, Cron) else (text, "UTC")
