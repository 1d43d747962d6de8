"""Enqueue what a tenant's schedules have due: once for each time, however many workers do it at that moment."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import Error as DatabaseError
from django.db import connections, transaction
from django.db.models import F, QuerySet

from jobqueue.error_text import describe, summary
from jobqueue.models import JobSchedule, ProcessingJob
from jobqueue.queue import Queue
from jobqueue.schedules import Schedule
from jobqueue.specs import JobSpec
from jobqueue.states import JobStatus
from jobqueue.tenant_source import current_tenant
from jobqueue.timetables import parse
from jobqueue.worker import events

#: What has been due for so long has been found by no worker.
LATE = timedelta(minutes=1)


def database_time(using: str) -> datetime:
    """Return the database's time, which decides what is due."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def enqueue_due(queue: Queue, declared: Mapping[str, Schedule], now: datetime) -> list[int]:
    """Write down what is new in code, and enqueue in the active tenant what is due; return the jobs' ids.

    Args:
        queue: Where the jobs are.
        declared: The tenant's schedules in code, by name. Rows of others, which another program may have, stay.
        now: By the database's clock.
    """
    rows = {row.name: row for row in JobSchedule.objects.using(queue.using)}
    for name in sorted(declared):  # in one order, so that workers don't wait for each other in a circle
        if name not in rows:
            _begin(queue, declared[name], now)
        elif rows[name].timetable != str(declared[name].when):
            _begin_anew(queue, declared[name], now)
    due = [name for name, row in sorted(rows.items()) if row.next_at and row.next_at <= now]
    taken = [_take(queue, name, declared.get(name), now) for name in due if rows[name].job_type or name in declared]
    return [job_id for job_id in taken if job_id is not None]


def seconds_to_next(using: str, declared: Mapping[str, Schedule], now: datetime) -> float:
    """Return in how many seconds something is due in the active tenant; infinity: nothing is."""
    rows = JobSchedule.objects.using(using).filter(next_at__isnull=False).only("name", "job_type", "next_at")
    moments = [row.next_at for row in rows if row.next_at and (row.job_type or row.name in declared)]
    return min(((moment - now).total_seconds() for moment in moments), default=float("inf"))


def begin_at_next(row: JobSchedule, now: datetime) -> None:
    """Let a row, which the caller saves, be due at the next of its times; what went before is not made up for."""
    row.done_until = now
    row.next_at = None if row.paused else parse(row.timetable).next(now)


def pause(rows: QuerySet[JobSchedule]) -> list[JobSchedule]:
    """Let schedules enqueue nothing until they are resumed, and return those that weren't paused."""
    return _set_paused(rows, paused=True)


def resume(rows: QuerySet[JobSchedule]) -> list[JobSchedule]:
    """Let paused schedules go on with their next time, and return them."""
    return _set_paused(rows, paused=False)


def _set_paused(rows: QuerySet[JobSchedule], *, paused: bool) -> list[JobSchedule]:
    with transaction.atomic(rows.db):
        now = database_time(rows.db)
        changed = list(rows.exclude(paused=paused).order_by("name").select_for_update())
        for row in changed:
            row.paused = paused
            begin_at_next(row, now)
            row.save(using=rows.db, update_fields=["paused", "next_at", "done_until"])
    return changed


def touch(using: str) -> None:
    """Write the active tenant's schedules as they are, for triggers to see."""
    JobSchedule.objects.using(using).update(timetable=F("timetable"))


def _begin(queue: Queue, schedule: Schedule, now: datetime) -> None:
    when = schedule.when
    row = JobSchedule(name=schedule.name, timetable=str(when), next_at=when.next(now), done_until=now)
    JobSchedule.objects.using(queue.using).bulk_create([row], ignore_conflicts=True)


def _begin_anew(queue: Queue, schedule: Schedule, now: datetime) -> None:
    """Note other times, unless one is due by those it had: while a program is being replaced, its versions differ."""
    row = JobSchedule.objects.using(queue.using).filter(name=schedule.name)
    row.filter(paused=True).update(timetable=str(schedule.when))
    row.filter(next_at__gt=now).update(timetable=str(schedule.when), next_at=schedule.when.next(now))


def _take(queue: Queue, name: str, declared: Schedule | None, now: datetime) -> int | None:
    """Enqueue for the latest time, unless another worker is just doing it or has done it."""
    with transaction.atomic(queue.using):
        rows = JobSchedule.objects.using(queue.using).select_for_update(skip_locked=True)
        row = rows.filter(name=name, next_at__lte=now).first()
        if row is None:
            return None
        try:
            schedule = declared or _of_row(row)
        except ValueError as error:  # written by hand
            rows.filter(name=name).update(next_at=None, problem=str(error))
            return None
        slot = schedule.when.latest(now)
        row.timetable, row.next_at, row.problem = str(schedule.when), schedule.when.next(now), ""
        job_id = None
        if slot is not None and slot > row.done_until:
            row.done_until = slot
            job_id = _enqueue(queue, row, schedule, slot)
        row.save(using=queue.using, force_update=True)
    return job_id


def _enqueue(queue: Queue, row: JobSchedule, schedule: Schedule, slot: datetime) -> int | None:
    if not schedule.overlap and _is_unfinished(queue, row.last_job_id):
        events.schedule_left_out(current_tenant(), row.name, slot)
        return None
    try:
        with transaction.atomic(queue.using):
            row.last_job_id = schedule.enqueue(queue, f"{row.name} {slot.isoformat()}")
    except DatabaseError:
        raise
    except Exception as error:  # noqa: BLE001 - what can't be enqueued must not keep the others from it
        row.problem = summary(describe(error))
        events.schedule_fails(current_tenant(), row.name, slot, error)
        return None
    row.last_at = slot
    return row.last_job_id


def _of_row(row: JobSchedule) -> Schedule:
    spec = JobSpec(row.job_type, row.payload, queue_name=row.queue_name, priority=row.priority)
    return Schedule(row.name, parse(row.timetable), spec, overlap=row.overlap)


def _is_unfinished(queue: Queue, job_id: int | None) -> bool:
    jobs = ProcessingJob.objects.using(queue.using)
    return job_id is not None and jobs.filter(pk=job_id, status__in=(JobStatus.PENDING, JobStatus.PROCESSING)).exists()
