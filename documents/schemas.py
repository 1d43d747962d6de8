"""What the HTTP API takes and gives."""

import re
from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from ninja import Schema
from pydantic import BaseModel, BeforeValidator, Field, SecretStr, model_validator

from documents.bulk import MAX_DOCUMENTS
from documents.filters import FileType
from documents.labels import MAX_TAGS
from documents.models import LABEL_MAX_LENGTH, NOTE_MAX_LENGTH, TITLE_MAX_LENGTH, Document, DocumentVersion
from documents.search_query import MAX_QUERY_CHARACTERS
from documents.states import DocumentStatus


class Problem(Schema):
    """Why a request was not met."""

    detail: str
    code: str = Field("", description="the same in a word, for programs, where there is more than the status to tell")


class DuplicateProblem(Problem):
    """Why the same bytes were refused."""

    document_id: UUID = Field(description="the document that has them")


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
    ended_at: datetime | None = Field(None, description="not known of documents from before this was noted")
    job_id: int | None = Field(None, description="the job that did it")


_INTERRUPTED = [
    {"name": "inspect", "status": "failed", "reason": "unavailable", "detail": "reading was interrupted; reprocess it"}
]


class DocumentOut(Schema):
    """A document with its current version."""

    id: UUID
    title: str
    tags: list[str]
    correspondent: str | None
    document_date: date | None = Field(description="of the letter or bill itself")
    date_is_guessed: bool = Field(description="from the text; false: somebody set or cleared it")
    file_name: str
    sha256: str
    size_bytes: int
    mime_type: str
    page_count: int | None
    version: int
    has_archive: bool = Field(description="there is a PDF with recognised text beside the original")
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
            "tags": document.names_of_tags,
            "correspondent": document.correspondent.name if document.correspondent else None,
            "document_date": document.document_date,
            "date_is_guessed": document.date_is_guessed,
            "file_name": version.file_name,
            "sha256": version.sha256,
            "size_bytes": version.size_bytes,
            "mime_type": version.mime_type,
            "page_count": version.page_count,
            "version": version.number,
            "has_archive": bool(version.archive_key),
            "status": DocumentStatus.FAILED if interrupted else document.status,
            "steps": _INTERRUPTED if interrupted else document.steps,
            "job_id": document.job_id,
            "created_at": document.created_at,
        }


class UploadOut(DocumentOut):
    """A document that was just uploaded, or that had these bytes already."""

    duplicate: bool
    restored: bool = Field(description="it had these bytes already and lay in the trash")


class ResumableUploadOut(Schema):
    """An upload that comes in pieces, or has come."""

    id: UUID
    file_name: str
    size_bytes: int
    received_bytes: int = Field(description="where it goes on")
    expires_at: datetime = Field(description="until then it can be gone on with; each piece puts that off")
    document_id: UUID | None = Field(None, description="the document that it has become")
    duplicate: bool = Field(description="the tenant had these bytes already, in that document")
    restored: bool = Field(description="which lay in the trash")


class ListedOut(DocumentOut):
    """A document in a list. ``page`` and ``snippet`` belong to a search."""

    page: int | None = Field(None, description="where the best hit is; none: in the title")
    snippet: str = Field("", description="HTML: the text around the hit, escaped, with the hits in <mark>")


class DocumentsOut(Schema):
    """One page of a list, and how many documents there are on all pages."""

    items: list[ListedOut]
    count: int
    more: bool = Field(False, description="more match than are counted: only the newest were compared")
    suggestion: str = Field("", description="nothing was found, but this would find something")


#: A PDF has 127 bytes for it.
MAX_PASSWORD_CHARACTERS = 127

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def _written_as_a_day(value: object) -> object:
    """Refuse what Pydantic would take for a day, too: seconds since 1970, midnights."""
    if value is None or (isinstance(value, str) and _DAY.fullmatch(value)):
        return value
    raise ValueError("Give a day as YYYY-MM-DD.")


Day = Annotated[date | None, BeforeValidator(_written_as_a_day, json_schema_input_type=date | None)]
Name = Annotated[str, Field(max_length=LABEL_MAX_LENGTH)]
# Said here, and refused where tags are given by pages, too.
TagName = Annotated[Name, Field(json_schema_extra={"pattern": "^[^,]*$"})]
Tags = Annotated[list[TagName], Field(json_schema_extra={"maxItems": MAX_TAGS})]


class ChangesIn(BaseModel, extra="forbid", json_schema_extra={"minProperties": 1}):
    """What can be edited; anything else is refused rather than ignored. What is left out stays as it is."""

    # Not a ninja.Schema: that reads attributes, and the JSON text "x" has a method called title.
    # By factories, which OpenAPI doesn't take for values: none of them is used.
    title: str = Field(default_factory=str, min_length=1, max_length=TITLE_MAX_LENGTH)
    tags: Tags = Field(default_factory=list, description="all that the document has afterwards")
    correspondent: Name | None = Field(default_factory=lambda: None, description="null: none")
    document_date: Day = Field(default_factory=lambda: None, description="null: none, and none is guessed")

    @model_validator(mode="after")
    def changes_something(self) -> "ChangesIn":
        """Refuse a body that asks for nothing."""
        if not self.model_fields_set:
            raise ValueError(f"Give at least one of {', '.join(type(self).model_fields)}.")
        return self


class BulkIn(BaseModel, extra="forbid"):
    """What is to be done to many documents."""

    action: Literal["tag", "trash", "restore"]
    ids: list[UUID] = Field(min_length=1, max_length=MAX_DOCUMENTS)
    tags: Tags = Field(default_factory=list, description="for `tag`: added to those that the documents have")


class BulkOut(Schema):
    """What was done."""

    changed: int
    missing: int = Field(description="don't exist, or aren't where the action looks for them")


class PasswordIn(BaseModel, extra="forbid"):
    """The password of a locked PDF."""

    password: SecretStr = Field(min_length=1, max_length=MAX_PASSWORD_CHARACTERS)


class NoteIn(BaseModel, extra="forbid"):
    """A note to be written."""

    text: str = Field(min_length=1, max_length=NOTE_MAX_LENGTH)


class NoteOut(Schema):
    """A note about a document."""

    id: int
    text: str
    author_name: str
    created_at: datetime


class RenameIn(BaseModel, extra="forbid"):
    """Which tag, or correspondent, is to have which name."""

    name: Name
    new_name: Name = Field(min_length=1)


class RenameOut(Schema):
    """What came of it."""

    name: str
    documents: int = Field(description="that have the new name instead of the old one")
    merged: bool = Field(description="the new name was another's, so the two are one now")


class SearchIn(BaseModel, extra="forbid", json_schema_extra={"minProperties": 2}):
    """A search to be saved: at least one of the parameters of the list."""

    name: Name = Field(min_length=1)
    q: str = Field("", max_length=MAX_QUERY_CHARACTERS)
    status: DocumentStatus | None = None
    tag: list[Name] = Field(default_factory=list, max_length=MAX_TAGS)
    correspondent: Name = ""
    type: FileType | None = None
    since: Day = None
    until: Day = None


class SearchOut(Schema):
    """A saved search; what it doesn't ask for is left out of `asked`."""

    id: int
    name: str
    asked: dict[str, str | list[str]] = Field(description="parameters of `GET /api/documents`")


class LabelOut(Schema):
    """A tag, or a correspondent, and how many documents outside the trash have it."""

    name: str
    documents: int


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
