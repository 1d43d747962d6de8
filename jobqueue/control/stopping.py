"""Ending all that runs in the active schema, and knowing when it has stopped."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.history import STOPPED_AT
from jobqueue.sign_of_life import living_workers
from jobqueue.states import JobStatus, Outcome

_LOOK_SECONDS = 0.1


@dataclass(frozen=True)
class StillRunning:
    """A job that was cancelled, whose handler goes on."""

    job_id: int
    job_type: str
    worker: str


def stop_all(using: str, *, patience_seconds: float) -> list[StillRunning]:
    """Cancel whatever runs, also what is claimed meanwhile, and wait until no handler is at work any more.

    What was cancelled lately is waited for, too.

    A worker that shows no sign of life has stopped. Of one that promises none, behind a pooler, its word is awaited.

    Returns:
        What had not stopped when the patience was over; empty: nothing runs.
    """
    queue = Queue(using)
    stopping = set(_cancelled_before(using, queue.stale_lock_after))
    until = time.monotonic() + patience_seconds
    while True:
        running = ProcessingJob.objects.using(using).filter(status=JobStatus.PROCESSING)
        stopping |= {job_id for job_id in list(running.values_list("pk", flat=True)) if queue.cancel(job_id)}
        left = _still_running(using, stopping)
        if not left or time.monotonic() > until:
            return left
        time.sleep(_LOOK_SECONDS)


def _cancelled_before(using: str, patience: timedelta) -> QuerySet[ProcessingJob, int]:
    """Return the jobs that were cancelled lately while they ran; a worker that hasn't told by then never will."""
    jobs = ProcessingJob.objects.using(using).filter(status=JobStatus.FAILED, finished_at__gt=Now() - patience)
    return jobs.values_list("pk", flat=True)


def _still_running(using: str, job_ids: Collection[int]) -> list[StillRunning]:
    living = living_workers(using) if job_ids else {}
    left = []
    for job in ProcessingJob.objects.using(using).filter(pk__in=job_ids).order_by("pk"):
        last = job.history[-1] if job.history else {}
        if last.get("outcome") == Outcome.CANCELLED and "holder_key" in last and STOPPED_AT not in last:
            holder_key = last["holder_key"]
            if holder_key is None or holder_key in living:
                left.append(StillRunning(job.pk, job.job_type, str(last.get("worker"))))
    return left
