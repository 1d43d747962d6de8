"""Finding the jobs of dead workers and giving them to the living. Needs no leader: every dequeue looks."""

import logging
from collections.abc import Iterable
from datetime import timedelta

from django.db.models import F, QuerySet, Value
from django.db.models.functions import Concat, Now

from jobqueue.models import ProcessingJob
from jobqueue.rows.fence import UNLOCKED
from jobqueue.rows.history import with_attempt
from jobqueue.rows.suspects import Suspect, look_for_dead_workers
from jobqueue.states import JobStatus, Outcome

logger = logging.getLogger("jobqueue.worker")

WORKER_DIED = "worker died"
#: Rows judged by one look; the next look goes on.
_LIMIT = 100


def rescue(using: str, *, stale_after: timedelta, grace: timedelta | None, patient: bool = False) -> int:
    """Take back the jobs whose worker is dead, and return how many.

    A job with attempts left becomes due again, to be claimed alone; one without becomes a dead letter. Must run in a
    transaction: the look keeps the rows locked until they are written, so that a worker that finishes one meanwhile
    wins.

    Args:
        using: The database's alias.
        stale_after: The age at which a lock is stale.
        grace: How long a holder is suspected on one evidence alone before it counts as dead; None: signs of life are
            not looked at.
        patient: Suspect it first on both evidences, too.
    """
    suspects = look_for_dead_workers(using, stale_after=stale_after, grace=grace or timedelta(0), limit=_LIMIT)
    if not suspects:
        return 0
    heeds_signs = grace is not None
    dead = [suspect for suspect in suspects if _is_dead(suspect, heeds_signs, patient)]
    alive = [suspect for suspect in suspects if suspect not in dead]
    suspected = [suspect.id for suspect in alive if heeds_signs and (suspect.stale or suspect.missing)]
    cleared = [suspect.id for suspect in alive if suspect.id not in suspected]

    def rows(ids: Iterable[int]) -> QuerySet[ProcessingJob]:
        return ProcessingJob.objects.using(using).filter(pk__in=list(ids))

    rows(cleared).update(suspected_since=None)
    rows(suspected).filter(suspected_since=None).update(suspected_since=Now())
    _end_attempt(rows(suspect.id for suspect in dead if not suspect.exhausted), JobStatus.PENDING)
    _end_attempt(rows(suspect.id for suspect in dead if suspect.exhausted), JobStatus.DEAD_LETTER)
    if dead:
        logger.warning("took %s jobs back from workers that died: %s", len(dead), [suspect.id for suspect in dead])
    return len(dead)


def _is_dead(suspect: Suspect, heeds_signs: bool, patient: bool) -> bool:
    """Judge by both evidences: a stale lock and a missing sign of life.

    One of them alone is suspected first: the connection of a worker may break, and a handler's long transaction may
    keep a living worker from renewing. Right after a restart of the server neither proves anything.
    """
    if not (heeds_signs and suspect.promised):
        return suspect.stale
    if not suspect.settled:
        return False
    if suspect.stale and suspect.missing and not patient:
        return True
    return (suspect.stale or suspect.missing) and suspect.for_long


def _end_attempt(jobs: QuerySet[ProcessingJob], status: JobStatus) -> None:
    jobs.update(
        status=status,
        lock_token=None,
        worker_deaths=F("worker_deaths") + 1,
        last_error=Concat(Value(f"{WORKER_DIED} ("), F("locked_by"), Value(")")),
        history=with_attempt(Outcome.WORKER_DIED, WORKER_DIED),
        **UNLOCKED,
    )
