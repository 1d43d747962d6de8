"""What the HTTP API takes and gives."""

from datetime import datetime
from typing import Any
from uuid import UUID

from ninja import Schema
from pydantic import BaseModel, Field

from documents.models import Document, DocumentVersion
from documents.states import DocumentStatus


class Problem(Schema):
    """Why a request was not met."""

    detail: str
    code: str = Field("", description="the same in a word, for programs, where there is more than the status to tell")


class NoThumbnail(Problem):
    """Why there is no thumbnail."""

    code: str = Field(
        "",
        description="`processing`: not yet; `not_made`, `missing`: reprocess the document; else the reason of its step "
        "`thumbnail`. None: there is no such document",
    )


class StepOut(Schema):
    """One step of the processing."""

    name: str
    status: str
    reason: str
    detail: str


_INTERRUPTED = [
    {"name": "inspect", "status": "failed", "reason": "unavailable", "detail": "reading was interrupted; reprocess it"}
]


class DocumentOut(Schema):
    """A document with its current version."""

    id: UUID
    title: str
    file_name: str
    sha256: str
    size_bytes: int
    mime_type: str
    page_count: int | None
    version: int
    status: str
    steps: list[StepOut]
    job_id: int | None
    created_at: datetime

    @classmethod
    def fields_of(cls, document: Document, version: DocumentVersion, *, interrupted: bool = False) -> dict[str, Any]:
        """Return the answer. ``interrupted``: its job ended without success, so nobody is processing it."""
        return {
            "id": document.pk,
            "title": document.title,
            "file_name": version.file_name,
            "sha256": version.sha256,
            "size_bytes": version.size_bytes,
            "mime_type": version.mime_type,
            "page_count": version.page_count,
            "version": version.number,
            "status": DocumentStatus.FAILED if interrupted else document.status,
            "steps": _INTERRUPTED if interrupted else document.steps,
            "job_id": document.job_id,
            "created_at": document.created_at,
        }


class UploadOut(DocumentOut):
    """A document that was just uploaded, or that had these bytes already."""

    duplicate: bool
    restored: bool = Field(description="it had these bytes already and lay in the trash")


class ListedOut(DocumentOut):
    """A document in a list. ``page`` and ``snippet`` belong to a search."""

    page: int | None = Field(None, description="where the best hit is; none: in the title")
    snippet: str = Field("", description="HTML: the text around the hit, escaped, with the hits in <mark>")


class DocumentsOut(Schema):
    """One page of a list, and how many documents there are on all pages."""

    items: list[ListedOut]
    count: int


class TitleIn(BaseModel, extra="forbid"):
    """What can be edited; anything else is refused rather than ignored."""

    # Not a ninja.Schema: that reads attributes, and the JSON text "x" has a method called title.
    title: str = Field(min_length=1, max_length=255)


class JobOut(Schema):
    """A job that processes a document."""

    id: int
    status: str
    attempts: int
    max_attempts: int
    progress: int | None
    error: str = Field(description="the last failure in one line; empty: there was none")
    created_at: datetime
    finished_at: datetime | None
