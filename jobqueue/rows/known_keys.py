"""What becomes of a job whose idempotency key is enqueued again."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from jobqueue.exceptions import KeyTaken
from jobqueue.models import ProcessingJob
from jobqueue.specs import CheckedSpec
from jobqueue.states import FINAL, JobStatus
from jobqueue.tracing import traceparent
from jobqueue.wakeup import wake_after_commit

_LATER = timedelta(days=1_000)


def answer(using: str, job: ProcessingJob, checked: CheckedSpec) -> ProcessingJob | None:
    """Return the job with the key, treated as the spec asks; None: the key is free now, or the job has changed.

    Raises:
        KeyTaken: The spec asked for this.
    """
    spec = checked.spec
    if spec.key_while_active and job.status in FINAL:
        _free(using, job)
        return None
    if spec.if_known == "raise":
        raise KeyTaken(f"The idempotency key {spec.idempotency_key!r} belongs to job {job.pk}, which is {job.status}.")
    if spec.if_known == "replace" and job.status == JobStatus.PROCESSING:
        _free(using, job)
        return None
    if spec.if_known == "replace" and job.status == JobStatus.PENDING:
        return _replaced(using, job, checked)
    return job


def _free(using: str, job: ProcessingJob) -> None:
    """Take the key from a job, unless its status is another by now."""
    rows = ProcessingJob.objects.using(using).filter(pk=job.pk, status=job.status)
    rows.filter(idempotency_key=job.idempotency_key).update(idempotency_key=None)


def _replaced(using: str, job: ProcessingJob, checked: CheckedSpec) -> ProcessingJob | None:
    """Make a pending job what the spec says, as if that had been enqueued first; None: it is no longer pending."""
    spec = checked.spec
    new: dict[str, Any] = {
        "payload": spec.payload,
        "queue_name": spec.queue_name,
        "priority": spec.priority,
        "available_at": checked.available_at or Now(),
        "max_attempts": checked.max_attempts,
        "concurrency_key": spec.concurrency_key,
        "concurrency_limit": None if spec.concurrency_key is None else spec.concurrency_limit,
        "blocked_due_at": None,
        "attempts": 0,
        "worker_deaths": 0,
        "last_error": "",
        "history": [],
        "traceparent": traceparent(),
    }
    rows = ProcessingJob.objects.using(using).filter(
        pk=job.pk, status=JobStatus.PENDING, idempotency_key=job.idempotency_key
    )
    with transaction.atomic(using, savepoint=False):
        if spec.queue_name != job.queue_name:
            # Its queue may have been paused, and so its tenant sleep: it becomes due earlier, which wakes it.
            rows.update(available_at=Now() + _LATER)
        if not rows.update(**new):
            return None
    wake_after_commit(using)
    replaced = ProcessingJob.objects.using(using).get(pk=job.pk)
    replaced.created = job.created
    return replaced
