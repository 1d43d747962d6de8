"""Which documents are asked for, beside the words of a search."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from documents.labels import key_of
from documents.models import Document, DocumentVersion
from documents.processing import media_types
from documents.states import DocumentStatus

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."


class FileType(TextChoices):
    """What people call the type of a file."""

    PDF = "pdf", _("PDF")
    IMAGE = "image", _("Picture")
    TEXT = "text", _("Text")
    TABLE = "table", _("Table")
    SLIDES = "slides", _("Slides")
    MAIL = "mail", _("E-mail")
    OTHER = "other", _("Other")


_TYPES = {
    FileType.PDF: Q(mime_type="application/pdf"),
    FileType.IMAGE: Q(mime_type__startswith="image/"),
    FileType.TABLE: Q(
        mime_type__in=[
            "text/csv",
            "application/vnd.ms-excel",
            f"{_OFFICE}spreadsheetml.sheet",
            f"{_OPEN}spreadsheet",
            media_types.XLSB,
        ]
    ),
    FileType.SLIDES: Q(
        mime_type__in=[
            "application/vnd.ms-powerpoint",
            f"{_OFFICE}presentationml.presentation",
            f"{_OPEN}presentation",
        ]
    ),
    FileType.MAIL: Q(mime_type="message/rfc822"),
    FileType.TEXT: Q(mime_type__startswith="text/") & ~Q(mime_type="text/csv")
    | Q(
        mime_type__in=[
            "application/msword",
            "application/rtf",
            f"{_OFFICE}wordprocessingml.document",
            f"{_OPEN}text",
        ]
    ),
}
_KNOWN = Q(pk__in=[])
for _condition in _TYPES.values():
    _KNOWN |= _condition


@dataclass(frozen=True)
class Filters:
    """All that is given must hold. ``tags``: each of them; ``since``, ``until``: both days are within."""

    status: DocumentStatus | None = None
    tags: tuple[str, ...] = ()
    correspondent: str = ""
    file_type: FileType | None = None
    since: date | None = None
    until: date | None = None

    def apply(self, documents: QuerySet[Document]) -> QuerySet[Document]:
        """Return those of the documents that fit."""
        if self.status:
            documents = documents.filter(status=self.status)
        keys = {key_of(tag) for tag in self.tags} - {""}
        if keys:
            documents = documents.filter(pk__in=_with_tags(keys))
        if self.correspondent:
            documents = documents.filter(correspondent__key=key_of(self.correspondent))
        if self.file_type:
            of_type = _TYPES.get(self.file_type, ~_KNOWN)
            current = DocumentVersion.objects.filter(of_type, document=OuterRef("pk"), is_current=True)
            documents = documents.filter(Exists(current))
        return self._within(documents)

    def _within(self, documents: QuerySet[Document]) -> QuerySet[Document]:
        """Go by the document's own date or, where it has none, by the day of its upload."""
        if self.since:
            uploaded = Q(document_date=None, created_at__gte=_midnight(self.since))
            documents = documents.filter(Q(document_date__gte=self.since) | uploaded)
        if self.until and self.until < date.max:
            uploaded = Q(document_date=None, created_at__lt=_midnight(self.until + timedelta(days=1)))
            documents = documents.filter(Q(document_date__lte=self.until) | uploaded)
        return documents


def _with_tags(keys: set[str]) -> QuerySet[Any, Any]:
    """Return the ids of documents that have each of the tags. Not by a join for each: planning many takes minutes."""
    tagged: QuerySet[Any, Any] = Document.tags.through.objects.filter(tag__key__in=keys).values("document")
    having_each: QuerySet[Any, Any] = tagged.alias(having=Count("tag")).filter(having=len(keys)).values("document")
    return having_each


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
