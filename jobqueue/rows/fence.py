"""The fence: what a claim may write to is its own row, for as long as it holds it.

A claim is known by the ``lock_token`` of its dequeue. ``attempts`` would not do, since a requeue sets it back.
"""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from jobqueue.exceptions import LockLost
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

#: What every write that ends a claim sets.
UNLOCKED: dict[str, Any] = {
    "locked_at": None,
    "locked_by": None,
    "holder_key": None,
    "suspected_since": None,
    "concurrency_slot": None,
    "blocked_due_at": None,
}


class Fate(Enum):
    """What has become of a claim."""

    HELD = auto()
    #: It ended in success.
    COMPLETED = auto()
    #: The job was cancelled, or its row is gone.
    CANCELLED = auto()
    #: The job is, or was, somebody else's.
    TAKEN = auto()


def by_token(using: str, job: ProcessingJob) -> QuerySet[ProcessingJob]:
    """Return the job's row, if this claim was the last to hold it."""
    return ProcessingJob.objects.using(using).filter(pk=job.pk, lock_token=job.lock_token, lock_token__isnull=False)


def held(using: str, job: ProcessingJob) -> QuerySet[ProcessingJob]:
    """Return the job's row, if this claim holds it."""
    return by_token(using, job).filter(status=JobStatus.PROCESSING)


def completed(using: str, job: ProcessingJob) -> bool:
    """Return whether this claim ended in success."""
    return by_token(using, job).filter(status=JobStatus.SUCCEEDED).exists()


def still_held(using: str, jobs: Iterable[ProcessingJob]) -> list[ProcessingJob]:
    """Return those of the jobs whose claims still hold, without locking anything."""
    jobs = list(jobs)
    rows = ProcessingJob.objects.using(using).filter(pk__in=[job.pk for job in jobs], status=JobStatus.PROCESSING)
    tokens = dict(rows.values_list("pk", "lock_token"))
    return [job for job in jobs if job.lock_token and tokens.get(job.pk) == job.lock_token]


def fates(using: str, jobs: Sequence[ProcessingJob]) -> list[Fate]:
    """Return what has become of each claim, in order, by one statement that locks nothing."""
    rows = ProcessingJob.objects.using(using).filter(pk__in={job.pk for job in jobs})
    now = {pk: (token, status) for pk, token, status in rows.values_list("pk", "lock_token", "status")}
    return [_fate(job, *now.get(job.pk, (None, None))) for job in jobs]


def _fate(job: ProcessingJob, token: UUID | None, status: str | None) -> Fate:
    if job.lock_token is not None and token == job.lock_token:
        return Fate.HELD if status == JobStatus.PROCESSING else Fate.COMPLETED
    return Fate.CANCELLED if status in (JobStatus.FAILED, None) else Fate.TAKEN


def lock_in_id_order(using: str, jobs: Iterable[ProcessingJob]) -> set[tuple[int, UUID]]:
    """Lock the rows that these claims hold, in id order against deadlocks; a row that is locked is skipped.

    Must run in a transaction.

    Returns:
        Id and token of each: an old and a new claim of one job may be in the same batch.
    """
    claims = {(job.pk, job.lock_token) for job in jobs if job.lock_token is not None}
    rows = ProcessingJob.objects.using(using).filter(
        pk__in={pk for pk, _ in claims}, lock_token__in={token for _, token in claims}, status=JobStatus.PROCESSING
    )
    locked = rows.order_by("pk").select_for_update(skip_locked=True).values_list("pk", "lock_token")
    return claims.intersection(locked)


def lock_lost(job: ProcessingJob) -> LockLost:
    """Return the error that says so."""
    return LockLost(f"Job {job.pk} is no longer held by this claim; nothing was changed.")
