"""Finding the jobs of dead workers and giving them to the living. Needs no leader: every dequeue looks."""

from collections.abc import Iterable
from datetime import timedelta

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Concat, Now

from jobqueue.history import with_attempt
from jobqueue.models import ProcessingJob
from jobqueue.statements import look_for_dead_workers
from jobqueue.states import JobStatus, Outcome

WORKER_DIED = "worker died"
#: Rows judged by one look; the next look goes on.
_LIMIT = 100


def rescue(using: str, *, stale_after: timedelta, grace: timedelta | None) -> int:
    """Take back the jobs whose worker is dead, and return how many.

    A job with attempts left becomes due again, to be claimed alone; one without becomes a dead letter. Must run in a
    transaction: the look keeps the rows locked until they are written, so that a worker that finishes one meanwhile
    wins.

    Args:
        using: The database's alias.
        stale_after: The age of a lock that proves death by itself.
        grace: How long a promised sign of life may be missing; None: it is not looked at.
    """
    # Without a grace time only the age of the lock counts; an endless one says the same.
    suspects = look_for_dead_workers(using, stale_after=stale_after, grace=grace or timedelta(days=36500), limit=_LIMIT)
    if not suspects:
        return 0

    def rows(ids: Iterable[int]) -> QuerySet[ProcessingJob]:
        return ProcessingJob.objects.using(using).filter(pk__in=list(ids))

    dead = {suspect for suspect in suspects if suspect.stale or (not suspect.alive and suspect.missed_for_long)}
    others = [suspect for suspect in suspects if suspect not in dead]
    rows(s.id for s in others if s.alive).update(holder_missing_since=None)
    rows(s.id for s in others if not s.alive).filter(holder_missing_since=None).update(holder_missing_since=Now())
    _end_attempt(rows(s.id for s in dead if not s.exhausted), JobStatus.PENDING)
    _end_attempt(rows(s.id for s in dead if s.exhausted), JobStatus.DEAD_LETTER)
    return len(dead)


def _end_attempt(jobs: QuerySet[ProcessingJob], status: JobStatus) -> None:
    jobs.update(
        status=status,
        locked_at=None,
        locked_by=None,
        lock_token=None,
        holder_key=None,
        holder_missing_since=None,
        claim_alone=True,
        last_error=Concat(Value(f"{WORKER_DIED} ("), F("locked_by"), Value(")")),
        history=with_attempt(Outcome.WORKER_DIED, WORKER_DIED),
    )
