"""What happened to a document, the latest first: what people did, and each attempt to read it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateparse import parse_datetime

from documents.lifecycle import RECOGNITION_JOB_TYPE
from documents.models import AuditEntry, Document
from documents.pages.words import ATTEMPTS, EVENTS, STEPS, Words
from jobqueue.models import ProcessingJob

SHOWN = 50


@dataclass(frozen=True)
class Event:
    """``who``: nobody for what the system did. ``old``, ``new``: what it was and is. ``added``, ``removed``: tags.

    ``step``: the only one that was done.
    """

    at: datetime
    what: Words
    who: str = ""
    old: str = ""
    new: str = ""
    added: str = ""
    removed: str = ""
    step: Words = ""
    error: str = ""


def timeline(document: Document) -> list[Event]:
    """Return the last events. Jobs are known until the queue removes them."""
    events = [*_deeds(document), *_attempts(document)]
    return sorted(events, key=lambda event: event.at, reverse=True)[:SHOWN]


def _deeds(document: Document) -> Iterator[Event]:
    for entry in AuditEntry.objects.filter(document_id=document.pk).order_by("-id")[:SHOWN]:
        values = {side: str(entry.details.get(side, "")) for side in ("old", "new")}
        tags = {side: ", ".join(entry.details.get(side, [])) for side in ("added", "removed")}
        yield Event(entry.at, EVENTS.get(entry.action, entry.action), entry.actor_name, **values, **tags)


def _attempts(document: Document) -> Iterator[Event]:
    """Yield the attempts of the latest job, and of those that did the steps that are shown."""
    ids = {document.job_id, *(step.get("job_id") for step in document.steps)} - {None}
    jobs = ProcessingJob.objects.filter(pk__in=ids).only("job_type", "payload", "history") if ids else []
    for job in jobs:
        step = "ocr" if job.job_type == RECOGNITION_JOB_TYPE else job.payload.get("step", "")
        for attempt in job.history:
            ended_at = parse_datetime(attempt["ended_at"])
            if ended_at:
                outcome = attempt["outcome"]
                error = attempt.get("error", "")
                yield Event(ended_at, ATTEMPTS.get(outcome, outcome), step=STEPS.get(step, ""), error=error)
