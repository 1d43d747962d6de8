"""The states of a document, and how they follow from its steps."""

from collections.abc import Iterable
from enum import StrEnum

from django.db.models import TextChoices

from documents.processing.findings import Step, StepStatus


class DocumentStatus(TextChoices):
    """How far the processing of a document's current version has come."""

    PROCESSING = "processing", "processing"
    READY = "ready", "ready"
    PARTIAL = "partial", "partial"
    FAILED = "failed", "failed"


class AuditAction(TextChoices):
    """What can happen to a document."""

    UPLOADED = "uploaded", "uploaded"
    UPLOADED_AGAIN = "uploaded_again", "uploaded again"
    RENAMED = "renamed", "renamed"
    TRASHED = "trashed", "moved to the trash"
    RESTORED = "restored", "restored from the trash"
    REPROCESSED = "reprocessed", "sent through processing again"
    TAGGED = "tagged", "tags changed"
    CORRESPONDENT_SET = "correspondent_set", "correspondent changed"
    DATED = "dated", "date of the document changed"
    NOTED = "noted", "note written"
    NOTE_REMOVED = "note_removed", "note removed"
    PURGED = "purged", "deleted for good"
    IMPORTED = "imported", "imported"
    UNLOCKED = "unlocked", "opened with its password"


class Duplicates(TextChoices):
    """What becomes of bytes that the tenant has already."""

    LINK = "link", "the document that has them is the answer"
    REFUSE = "refuse", "they are refused"
    ALLOW = "allow", "they become another document"


class Repeatable(StrEnum):
    """Steps that can be repeated by themselves. ``text`` brings all the others with it."""

    TEXT = "text"
    OCR = "ocr"
    THUMBNAIL = "thumbnail"
    INDEX = "index"


#: In the order in which they are done, and shown.
STEP_NAMES = ("inspect", "text", "ocr", "thumbnail", "index")


def status_after(steps: Iterable[Step]) -> DocumentStatus:
    """Return the status of a document whose steps have all ended.

    ``failed`` if none gave anything, ``partial`` if some failed for good; skipped steps don't count against it.
    """
    ended = {step.status for step in steps}
    if StepStatus.DONE not in ended:
        return DocumentStatus.FAILED
    return DocumentStatus.PARTIAL if StepStatus.FAILED in ended else DocumentStatus.READY
