"""What happened to a document, the latest first: what people did, and each attempt to read it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateparse import parse_datetime

from documents.models import AuditEntry, Document
from documents.pages.words import ATTEMPTS, EVENTS, Words
from jobqueue.models import ProcessingJob

SHOWN = 50


@dataclass(frozen=True)
class Event:
    """``who``: nobody for what the system did. ``old``, ``new``: what it was and is. ``added``, ``removed``: tags."""

    at: datetime
    what: Words
    who: str = ""
    old: str = ""
    new: str = ""
    added: str = ""
    removed: str = ""
    error: str = ""


def timeline(document: Document) -> list[Event]:
    """Return the last events. Of the jobs, only the latest is known, and only until the queue removes it."""
    events = [*_deeds(document), *_attempts(document)]
    return sorted(events, key=lambda event: event.at, reverse=True)[:SHOWN]


def _deeds(document: Document) -> Iterator[Event]:
    for entry in AuditEntry.objects.filter(document_id=document.pk).order_by("-id")[:SHOWN]:
        values = {side: str(entry.details.get(side, "")) for side in ("old", "new")}
        tags = {side: ", ".join(entry.details.get(side, [])) for side in ("added", "removed")}
        yield Event(entry.at, EVENTS.get(entry.action, entry.action), entry.actor_name, **values, **tags)


def _attempts(document: Document) -> Iterator[Event]:
    job = ProcessingJob.objects.filter(pk=document.job_id).only("history").first() if document.job_id else None
    for attempt in job.history if job else []:
        ended_at = parse_datetime(attempt["ended_at"])
        if ended_at:
            outcome = attempt["outcome"]
            yield Event(ended_at, ATTEMPTS.get(outcome, outcome), error=attempt.get("error", ""))
