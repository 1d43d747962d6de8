"""Claiming due jobs: which ones, and what a claim writes. Joins the caller's transaction."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db.models import BooleanField, F, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now

from jobqueue.lanes import Due, Lane, Marks, Place
from jobqueue.models import RUN_ALONE_AFTER_DEATHS, PausedQueue, ProcessingJob
from jobqueue.statements import is_at_work, look_for_due_jobs
from jobqueue.states import JobStatus

_ANY_NUMBER_OF_DEATHS = 2**15

#: What every write that ends a claim sets.
UNLOCKED: dict[str, Any] = {
    "locked_at": None,
    "locked_by": None,
    "holder_key": None,
    "suspected_since": None,
}


@dataclass(frozen=True)
class Wanted:
    """Which jobs somebody would take."""

    job_types: Sequence[str] | None = None  # None: any
    queue_names: Sequence[str] | None = None  # None: of any queue
    #: True: only those that are to run alone in their process; False: none of them; None: either.
    alone: bool | None = None


@dataclass(frozen=True)
class Claimed:
    """What a claim took."""

    jobs: list[ProcessingJob]
    #: Whether there were as many as asked for: there may be more.
    full: bool
    #: Until the next job that isn't due yet; None if there is none, or nobody has looked.
    seconds_to_next: float | None = None


def claim(
    using: str,
    wanted: Wanted,
    limit: int,
    worker_id: str,
    holder_key: int | None,
    *,
    marks: Marks | None = None,
    token: UUID | None = None,
) -> Claimed:
    """Claim up to ``limit`` due jobs: highest priority first, then the longest due, then the lowest id.

    First looks without locking, then locks in each lane as many as the look found there, of those that no other
    transaction has locked meanwhile. Must run in a transaction.

    Args:
        using: The database's alias.
        wanted: Which jobs.
        limit: At least 1.
        worker_id: Stands in ``locked_by``.
        holder_key: Of the sign of life that the worker shows; None: none.
        marks: Where to go on, and where to note how far this claim came; None: from the front.
        token: To be the claim's ``lock_token``; None: a new one.
    """
    if wanted.alone:
        alone = list(_locked(_lonely(using, wanted))[:1])
        return Claimed(_taken(using, alone, worker_id, holder_key, token), full=bool(alone))
    deaths_below = _ANY_NUMBER_OF_DEATHS if wanted.alone is None else RUN_ALONE_AFTER_DEATHS
    if marks is not None and marks.only_lane is not None:
        due = Due([(marks.only_lane, limit)], seconds_to_next=None)
    else:
        due = look_for_due_jobs(
            using,
            limit=limit,
            deaths_below=deaths_below,
            job_types=wanted.job_types,
            queue_names=wanted.queue_names,
            marks=marks,
        )
    jobs: list[ProcessingJob] = []
    for lane, share in due.takes:
        found = list(_locked(_in_lane(using, lane, marks.places.get(lane) if marks else None, deaths_below))[:share])
        jobs += found
        if marks is not None and found:
            marks.advance(lane, Place(found[-1].available_at, found[-1].pk), time.monotonic())
    if len(due.takes) > 1:
        jobs.sort(key=lambda job: (-job.priority, job.available_at, job.pk))
    jobs = _leave_the_lonely(jobs)
    return Claimed(
        _taken(using, jobs, worker_id, holder_key, token),
        full=len(jobs) == limit or any(job.worker_deaths for job in jobs),
        seconds_to_next=due.seconds_to_next,
    )


def undo(using: str, token: UUID, server_process: int) -> bool:
    """Give back what was claimed with this token, if anything was: the answer to that COMMIT was lost.

    Returns:
        False if it isn't decided yet, since the server process with that transaction is still at work.
    """
    if is_at_work(using, server_process):
        return False
    ProcessingJob.objects.using(using).filter(status=JobStatus.PROCESSING, lock_token=token).update(
        status=JobStatus.PENDING, attempts=F("attempts") - 1, lock_token=None, **UNLOCKED
    )
    return True


def waits_alone(using: str, wanted: Wanted) -> bool:
    """Return whether a job is due that is to run alone in its process."""
    return _lonely(using, wanted).exists()


def _due(using: str) -> QuerySet[ProcessingJob]:
    return ProcessingJob.objects.using(using).filter(status=JobStatus.PENDING, available_at__lte=Now())


def _lonely(using: str, wanted: Wanted) -> QuerySet[ProcessingJob]:
    paused = PausedQueue.objects.using(using).values("queue_name")
    due = _due(using).filter(worker_deaths__gte=RUN_ALONE_AFTER_DEATHS).exclude(queue_name__in=paused)
    if wanted.job_types is not None:
        due = due.filter(job_type__in=wanted.job_types)
    if wanted.queue_names is not None:
        due = due.filter(queue_name__in=wanted.queue_names)
    return due.order_by("-priority", "available_at", "id")


# One condition in SQL: it says what six lookups would, for a third of what Django takes to compile those. The place is
# compared as a row, which the index can start from; taken apart, all jobs of the same moment would be read.
_IN_LANE = """
    status = 'pending' AND job_type = %s AND queue_name = %s AND priority = %s
    AND available_at <= statement_timestamp() AND worker_deaths < %s
"""
_BEHIND = " AND (available_at, id) > (%s, %s)"


def _in_lane(using: str, lane: Lane, after: Place | None, deaths_below: int) -> QuerySet[ProcessingJob]:
    condition = RawSQL(  # noqa: S611 - constants and parameters
        _IN_LANE + _BEHIND if after else _IN_LANE, (*lane, deaths_below, *(after or ())), output_field=BooleanField()
    )
    return ProcessingJob.objects.using(using).filter(condition).order_by("available_at", "id")


def _locked(due: QuerySet[ProcessingJob]) -> QuerySet[Any]:
    return due.annotate(now=Now()).select_for_update(skip_locked=True)


def _leave_the_lonely(jobs: list[ProcessingJob]) -> list[ProcessingJob]:
    """Cut a batch so that a job whose worker died is alone; the rest is unlocked at the end of the transaction."""
    for position, job in enumerate(jobs):
        if job.worker_deaths:
            return jobs[: max(position, 1)]
    return jobs


def _taken(
    using: str,
    jobs: Sequence[ProcessingJob],
    worker_id: str,
    holder_key: int | None,
    token: UUID | None,
) -> list[ProcessingJob]:
    """Write the claim into the rows, which are locked, and into the objects."""
    if not jobs:
        return []
    claim: dict[str, Any] = {
        "status": JobStatus.PROCESSING,
        "locked_at": jobs[0].now,  # type: ignore[attr-defined]  # annotated
        "started_at": jobs[0].now,  # type: ignore[attr-defined]
        "locked_by": worker_id,
        "lock_token": token or uuid4(),
        "holder_key": holder_key,
        "suspected_since": None,
        "progress": None,
    }
    # As one array: hundreds of parameters of an IN cost more than the rest of the statement.
    locked = RawSQL("id = ANY (%s)", ([job.pk for job in jobs],), output_field=BooleanField())
    ProcessingJob.objects.using(using).filter(locked).update(attempts=F("attempts") + 1, **claim)
    for job in jobs:
        job.attempts += 1
        job.__dict__.update(claim)
    return list(jobs)
