"""A job's state in a few words, for the list."""

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone
from django.utils.formats import number_format
from django.utils.timesince import timesince
from django.utils.translation import gettext as _

from jobqueue.error_text import summary
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

_ERROR_MAX_CHARACTERS = 200


def note(job: ProcessingJob) -> str:
    """Say what is of interest about a job in its status."""
    return _NOTES[JobStatus(job.status)](job)


def _pending(job: ProcessingJob) -> str:
    waits = job.due_at - timezone.now()
    when = _("due in %s") % _span(waits) if waits > timedelta(0) else _("due for %s") % _span(-waits)
    if job.blocked_due_at:
        when = _("blocked by its limit, %s") % when
    return _("%(when)s; last: %(error)s") % {"when": when, "error": _error(job)} if job.last_error else when


def _processing(job: ProcessingJob) -> str:
    words = {"worker": job.locked_by, "time": _span(timezone.now() - job.started_at) if job.started_at else ""}
    where = _("for %(time)s on %(worker)s") % words if job.started_at else _("on %(worker)s") % words
    return f"{where}, {job.progress} %" if job.progress is not None else where


def _succeeded(job: ProcessingJob) -> str:
    if job.started_at is None or job.finished_at is None:
        return ""
    return _("took %s") % _span(job.finished_at - job.started_at)


def _error(job: ProcessingJob) -> str:
    return summary(job.last_error)[:_ERROR_MAX_CHARACTERS]


def _span(duration: timedelta) -> str:
    """Say how long that is, from tenths of a second to years."""
    seconds = max(duration.total_seconds(), 0.0)
    if seconds < 10:
        return f"{number_format(seconds, 1)} s"
    return f"{seconds:.0f} s" if seconds < 60 else timesince(timezone.now() - duration)


_NOTES: dict[JobStatus, Callable[[ProcessingJob], str]] = {
    JobStatus.PENDING: _pending,
    JobStatus.PROCESSING: _processing,
    JobStatus.SUCCEEDED: _succeeded,
    JobStatus.DEAD_LETTER: _error,
    JobStatus.FAILED: _error,
}
