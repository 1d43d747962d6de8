"""A job's state in a few words, for the list."""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone
from django.utils.timesince import timesince

from jobqueue.error_text import summary
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

_ERROR_MAX_CHARACTERS = 200


def note(job: ProcessingJob) -> str:
    """Say what is of interest about a job in its status."""
    return _NOTES[JobStatus(job.status)](job)


def _pending(job: ProcessingJob) -> str:
    waits = job.available_at - timezone.now()
    when = f"due in {_span(waits)}" if waits > timedelta(0) else f"due for {_span(-waits)}"
    return f"{when}; last: {_error(job)}" if job.last_error else when


def _processing(job: ProcessingJob) -> str:
    since = f"for {_span(timezone.now() - job.started_at)} " if job.started_at else ""
    progress = f", {job.progress} %" if job.progress is not None else ""
    return f"{since}on {job.locked_by}{progress}"


def _succeeded(job: ProcessingJob) -> str:
    if job.started_at is None or job.finished_at is None:
        return ""
    return f"took {_span(job.finished_at - job.started_at)}"


def _error(job: ProcessingJob) -> str:
    return summary(job.last_error)[:_ERROR_MAX_CHARACTERS]


def _span(duration: timedelta) -> str:
    """Say how long that is, from tenths of a second to years."""
    seconds = max(duration.total_seconds(), 0.0)
    if seconds < 10:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 60 else timesince(timezone.now() - duration)


_NOTES: dict[JobStatus, Callable[[ProcessingJob], str]] = {
    JobStatus.PENDING: _pending,
    JobStatus.PROCESSING: _processing,
    JobStatus.SUCCEEDED: _succeeded,
    JobStatus.DEAD_LETTER: _error,
    JobStatus.FAILED: _error,
}
