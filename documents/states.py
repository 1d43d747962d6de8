"""The states of a document, and how they follow from its steps."""

from collections.abc import Iterable
from enum import StrEnum

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from documents.processing.findings import Step, StepStatus


class DocumentStatus(TextChoices):
    """How far the processing of a document's current version has come."""

    PROCESSING = "processing", pgettext_lazy("document", "processing")
    READY = "ready", pgettext_lazy("document", "ready")
    PARTIAL = "partial", pgettext_lazy("document", "partial")
    FAILED = "failed", pgettext_lazy("document", "failed")


class AuditAction(TextChoices):
    """What can happen to a document."""

    UPLOADED = "uploaded", _("uploaded")
    UPLOADED_AGAIN = "uploaded_again", _("uploaded again")
    RENAMED = "renamed", _("renamed")
    TRASHED = "trashed", _("moved to the trash")
    RESTORED = "restored", _("restored from the trash")
    REPROCESSED = "reprocessed", _("sent through processing again")
    TAGGED = "tagged", _("tags changed")
    CORRESPONDENT_SET = "correspondent_set", _("correspondent changed")
    DATED = "dated", _("date of the document changed")
    NOTED = "noted", _("note written")
    NOTE_REMOVED = "note_removed", _("note removed")
    PURGED = "purged", _("deleted for good")
    IMPORTED = "imported", _("imported")
    UNLOCKED = "unlocked", _("opened with its password")


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
