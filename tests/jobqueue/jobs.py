"""Jobs in every state, each brought there by the queue's own verbs, and what their rows say."""

from datetime import timedelta
from typing import Any

from django.db.models import F

from jobqueue.models import PRIORITY_MAX, ProcessingJob
from jobqueue.queue import Queue

MINUTES = timedelta(minutes=5)


class Jobs:
    """Makes jobs for one test."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue

    def pending(self, job_type: str = "test.ok", **options: Any) -> ProcessingJob:
        return self.queue.enqueue(job_type, options.pop("payload", {}), **options)

    def processing(self, worker: str = "w1", holder_key: int | None = None, **options: Any) -> ProcessingJob:
        """Return a job as ``worker`` claimed it."""
        job = self.pending(**{"priority": PRIORITY_MAX} | options)
        return self.claim(job, worker, holder_key)

    def claim(self, job: ProcessingJob, worker: str = "w1", holder_key: int | None = None) -> ProcessingJob:
        """Claim the next job, which must be this one."""
        (claimed,) = self.queue.dequeue_many(worker, 1, holder_key=holder_key)
        assert claimed.pk == job.pk, f"job {claimed.pk} comes before job {job.pk}"
        return claimed

    def succeeded(self, **options: Any) -> ProcessingJob:
        job = self.processing(**options)
        self.queue.complete(job)
        return job

    def dead_letter(self, **options: Any) -> ProcessingJob:
        job = self.processing(**options)
        self.queue.fail(job, "no use", retry=False)
        return job

    def discarded(self, **options: Any) -> ProcessingJob:
        job = self.dead_letter(**options)
        self.queue.discard(job.pk)
        return job

    def cancelled(self, **options: Any) -> ProcessingJob:
        job = self.processing(**options)
        self.queue.cancel(job.pk)
        return job


def row(job: ProcessingJob) -> ProcessingJob:
    """Return the job as it stands in the table now."""
    return ProcessingJob.objects.get(pk=job.pk)


def columns(job: ProcessingJob) -> dict[str, Any]:
    """Return everything that stands in the job's row, to be compared."""
    return ProcessingJob.objects.filter(pk=job.pk).values().get()


def age_lock(job: ProcessingJob, by: timedelta = MINUTES) -> None:
    """Make the job's lock older, as if it had not been renewed for that long."""
    assert ProcessingJob.objects.filter(pk=job.pk, status="processing").update(locked_at=F("locked_at") - by)
