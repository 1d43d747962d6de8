"""Ending all that runs in the active schema, and knowing when it has stopped."""

import time
from collections.abc import Collection
from dataclasses import dataclass

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

    A worker that shows no sign of life has stopped. Of one that promises none, behind a pooler, its word is awaited.

    Returns:
        What had not stopped when the patience was over; empty: nothing runs.
    """
    queue = Queue(using)
    holders: dict[int, int | None] = {}
    until = time.monotonic() + patience_seconds
    while True:
        running = ProcessingJob.objects.using(using).filter(status=JobStatus.PROCESSING)
        found = list(running.values_list("pk", "holder_key"))
        holders |= {job_id: holder_key for job_id, holder_key in found if queue.cancel(job_id)}
        left = _still_running(using, holders)
        if not left or time.monotonic() > until:
            return left
        time.sleep(_LOOK_SECONDS)


def _still_running(using: str, holders: dict[int, int | None]) -> list[StillRunning]:
    living: Collection[int] = living_workers(using) if holders else ()
    asked = [job_id for job_id, key in holders.items() if key is None or key in living]
    left = []
    for job in ProcessingJob.objects.using(using).filter(pk__in=asked).order_by("pk"):
        last = job.history[-1] if job.history else {}
        if last.get("outcome") == Outcome.CANCELLED and STOPPED_AT not in last:
            left.append(StillRunning(job.pk, job.job_type, str(last.get("worker"))))
    return left
