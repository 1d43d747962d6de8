"""A job's history, event by event: a pure function of its row."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext, ngettext

from jobqueue.models import ProcessingJob
from jobqueue.rows.history import STOPPED_AT
from jobqueue.states import FINAL, JobStatus, Outcome


@dataclass(frozen=True)
class Event:
    """Something that happened to a job, or will."""

    #: None: nobody recorded when.
    at: datetime | None
    #: For programs: ``enqueued``, ``unrecorded``, ``started``, an outcome, ``stopped``, ``due``, ``finished``,
    #: ``decided``.
    code: str
    text: str
    #: An error's first line, or who decided.
    detail: str = ""


def timeline(job: ProcessingJob, decisions: tuple[tuple[datetime, str, str], ...] = ()) -> list[Event]:
    """Return what is known to have happened, oldest first.

    Args:
        job: As its row says now.
        decisions: What people did to it, each with the moment, what it was, and who did it.
    """
    events = [Event(job.created_at, "enqueued", gettext("Enqueued"))]
    if (unrecorded := _unrecorded(job)) > 0:
        text = ngettext(
            "%(count)s attempt that is recorded no more", "%(count)s attempts that are recorded no more", unrecorded
        )
        events.append(Event(None, "unrecorded", text % {"count": unrecorded}))
    dated = [event for entry in job.history for event in _attempt(entry)]
    dated += [Event(at, "decided", text, who) for at, text, who in decisions]
    events += sorted(dated, key=lambda event: event.at or job.created_at)
    return events + _now(job)


def _unrecorded(job: ProcessingJob) -> int:
    """How many attempts the bounded record has dropped: the first one recorded says which number it has."""
    return int(job.history[0]["attempt"]) - 1 if job.history else 0


def _attempt(entry: dict[str, Any]) -> list[Event]:
    started, ended = _time(entry.get("started_at")), _time(entry.get("ended_at"))
    begun = gettext("Attempt %(number)s started on %(worker)s") % {
        "number": entry.get("attempt"),
        "worker": entry.get("worker") or "?",
    }
    outcome = str(entry.get("outcome"))
    text = _endings().get(outcome, outcome)
    if started and ended:
        text = gettext("%(what)s after %(seconds)s s") % {"what": text, "seconds": _seconds(ended - started)}
    events = [Event(started, "started", begun), Event(ended, outcome, text, str(entry.get("error") or ""))]
    if STOPPED_AT in entry:
        events.append(Event(_time(entry[STOPPED_AT]), "stopped", gettext("Its handler was no longer at work")))
    return events


def _endings() -> dict[str, str]:
    return {
        Outcome.SUCCEEDED: gettext("Succeeded"),
        Outcome.FAILED: gettext("Failed"),
        Outcome.RELEASED: gettext("Given back unharmed"),
        Outcome.WORKER_DIED: gettext("Its worker died"),
        Outcome.CANCELLED: gettext("Cancelled"),
    }


def _now(job: ProcessingJob) -> list[Event]:
    """What comes after the last attempt that has ended."""
    if job.status == JobStatus.PROCESSING:
        text = gettext("Attempt %(number)s started on %(worker)s")
        return [Event(job.started_at, "started", text % {"number": job.attempts, "worker": job.locked_by})]
    if job.status == JobStatus.PENDING:
        return [Event(job.due_at, "due", gettext("Due"))]
    last_end = _time(job.history[-1].get("ended_at")) if job.history else None
    if job.status in FINAL and job.finished_at != last_end:
        return [
            Event(
                job.finished_at,
                "finished",
                gettext("Ended for good: %(status)s") % {"status": JobStatus(job.status).label},
            )
        ]
    return []


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _seconds(duration: timedelta) -> str:
    seconds = duration.total_seconds()
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:,.0f}"
