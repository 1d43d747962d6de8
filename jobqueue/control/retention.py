"""Removing finished jobs that nobody needs any more, in batches of which each is a short transaction of its own.

No index is needed: ids come in the order of time, so what is old enough lies before the first job that was enqueued too
late for that. Pending, running and dead jobs are never removed, however old they are.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from jobqueue.models import FlowStep, JobFlow, ProcessingJob
from jobqueue.states import FINAL

#: Rows that one look reads, and one transaction removes at most.
BATCH = 1_000


def prune(using: str, ages: Mapping[str, timedelta], *, dry_run: bool = False) -> Iterator[int]:
    """Remove the active tenant's jobs that ended longer ago than their status allows; yields how many, batch by batch.

    A job that somebody has locked is left to the next run. With a job its idempotency key is free again.

    Args:
        using: The database's alias.
        ages: How long jobs of a final status are kept; a status that isn't named is kept for ever.
        dry_run: Only count.

    Raises:
        ValueError: A status is not final.
    """
    if wrong := set(ages) - set(FINAL):
        raise ValueError(f"Jobs that are {', '.join(sorted(wrong))} are not finished, and never removed.")
    now = _now(using)
    if not ages or now is None:
        return
    before = {status: now - age for status, age in ages.items()}
    after = 0
    while True:
        jobs = ProcessingJob.objects.using(using).filter(pk__gt=after).order_by("pk")
        rows = list(jobs.values_list("pk", "status", "created_at", "finished_at")[:BATCH])
        if not rows or rows[0][2] > max(before.values()):
            return
        after = rows[-1][0]
        old = [pk for pk, status, _, ended in rows if ended is not None and status in before and ended < before[status]]
        if old:
            yield len(old) if dry_run else _remove(using, old)


def prune_flows(using: str, age: timedelta) -> Iterator[int]:
    """Remove the flows that were put in longer ago and of which no job is left; yields how many, batch by batch.

    None of their steps can begin any more: only the success of another step's job makes one begin.
    """
    steps = FlowStep.objects.using(using)
    jobs = ProcessingJob.objects.using(using).filter(flow_step_id=OuterRef("pk"))
    with_job = steps.filter(Exists(jobs), flow=OuterRef("pk"))
    while True:
        old = JobFlow.objects.using(using).filter(~Exists(with_job), created_at__lt=Now() - age)
        with transaction.atomic(using):
            found = list(old.order_by("pk").values_list("pk", flat=True)[:BATCH])
            if not found:
                return
            steps.filter(flow__in=found)._raw_delete(using)
            yield JobFlow.objects.using(using).filter(pk__in=found)._raw_delete(using)


def _remove(using: str, ids: list[int]) -> int:
    """Lock first, without waiting: a row that somebody else has locked must not hold up the others."""
    finished = ProcessingJob.objects.using(using).filter(pk__in=ids, status__in=FINAL)
    with transaction.atomic(using):
        free = list(finished.order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True))
        # No model refers to jobs, so none has to be looked for.
        return ProcessingJob.objects.using(using).filter(pk__in=free)._raw_delete(using)


def _now(using: str) -> datetime | None:
    """Return the database's time; None if there are no jobs."""
    return ProcessingJob.objects.using(using).order_by("pk").values_list(Now(), flat=True).first()
