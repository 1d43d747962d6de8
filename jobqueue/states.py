"""The five states of a job; docs/reference/job-states.md draws how one leads to another."""

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class JobStatus(models.TextChoices):
    """What each status means to an operator."""

    # Waits for its time (available_at) and a worker; also between two attempts.
    PENDING = "pending", _("pending")
    # A worker holds it: locked_by, locked_at and lock_token say who and since when.
    PROCESSING = "processing", _("processing")
    # Done.
    SUCCEEDED = "succeeded", _("succeeded")
    # Attempts exhausted, or the handler said that a retry is useless; waits for a person.
    DEAD_LETTER = "dead_letter", _("dead letter")
    # Final without success by decision: discarded or cancelled.
    FAILED = "failed", pgettext_lazy("job", "failed")


FINAL = (JobStatus.SUCCEEDED, JobStatus.FAILED)


class Outcome(models.TextChoices):
    """How one attempt ended, as ``ProcessingJob.history`` records it."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RELEASED = "released"  # given back unharmed; the attempt doesn't count
    WORKER_DIED = "worker_died"
    CANCELLED = "cancelled"
