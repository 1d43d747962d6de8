"""Reading an export back into a tenant, after all of it was found to be whole."""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from pydantic import BaseModel, Field, ValidationError

from dms_project.tenancy import current
from documents import audit, labels, objects
from documents.exceptions import DocumentsError
from documents.lifecycle import enqueue_processing
from documents.models import AuditEntry, Correspondent, Document, DocumentVersion, Note, Tag
from documents.states import AuditAction
from documents.storage import key_of, object_store
from documents.transfer.exporting import FILES, FORMAT, INDEX, SUMMARY


class ExportDamaged(DocumentsError):
    """A folder is no whole export; the message names the file. Nothing was imported."""

    def __init__(self, path: Path | str, why: str) -> None:
        super().__init__(f"{path}: {why}. Nothing was imported.")


class _Note(BaseModel):
    text: str = Field(min_length=1)
    author_name: str
    created_at: datetime


class _Version(BaseModel):
    number: int = Field(ge=1)
    is_current: bool
    is_copy: bool = False
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    size_bytes: int = Field(ge=1)
    mime_type: str
    file_name: str
    created_at: datetime
    file: str


class _Deed(BaseModel):
    at: datetime
    actor_name: str
    action: AuditAction
    details: dict[str, Any]


class _Document(BaseModel):
    id: UUID
    title: str = Field(min_length=1)
    created_at: datetime
    deleted_at: datetime | None
    tags: list[str]
    correspondent: str | None
    document_date: date | None
    date_is_guessed: bool
    notes: list[_Note]
    versions: list[_Version] = Field(min_length=1)
    history: list[_Deed]


@dataclass
class Imported:
    """``known``: documents whose id or original the tenant has already; they stay as they are."""

    documents: int = 0
    known: int = 0


def import_export(folder: Path, progress: Callable[[], None] = lambda: None) -> Imported:
    """Read an export into the active tenant, and have each document processed.

    All of it is compared first. If it breaks off later, run it again: what is there already is left alone.

    Raises:
        ExportDamaged: Nothing was imported.
        StorageError: What was imported stays.
    """
    summary = _summary(folder)
    for entry in _entries(folder, summary):
        for version in entry.versions:
            _compare(folder, version)
    done = Imported()
    for entry in _entries(folder, summary):
        if _is_known(entry):
            done.known += 1
        else:
            _import(folder, entry, str(summary["tenant"]))
            done.documents += 1
        progress()
    return done


def _summary(folder: Path) -> dict[str, Any]:
    path = folder / SUMMARY
    try:
        summary = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise ExportDamaged(path, "it isn't there, so this is no export, or one that broke off") from None
    except ValueError:
        raise ExportDamaged(path, "it is no JSON") from None
    if not isinstance(summary, dict) or summary.get("format") != FORMAT:
        raise ExportDamaged(path, f"its format is not {FORMAT}, the one that is read here")
    if _sha256(folder / INDEX) != summary.get("sha256_of_documents"):
        raise ExportDamaged(folder / INDEX, "it is not what was exported")
    return summary


def _entries(folder: Path, summary: dict[str, Any]) -> Iterator[_Document]:
    with (folder / INDEX).open("rb") as index:
        for number, line in enumerate(index, start=1):
            try:
                yield _Document.model_validate_json(line)
            except ValidationError as error:
                said = error.errors()[0]
                where = ".".join(map(str, said["loc"]))
                raise ExportDamaged(folder / INDEX, f"line {number}, {where}: {said['msg']}") from error


def _compare(folder: Path, version: _Version) -> None:
    """Compare an original with its description. A path that leads out of the export, or a link, is none of it."""
    path = folder / version.file
    parts = Path(version.file).parts
    if len(parts) != 3 or parts[0] != FILES or ".." in parts or path.is_symlink() or path.parent.is_symlink():
        raise ExportDamaged(path, "no export has such a name")
    if not path.is_file():
        raise ExportDamaged(path, "it isn't there")
    if path.stat().st_size != version.size_bytes or _sha256(path) != version.sha256:
        raise ExportDamaged(path, "it is not what was exported")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ExportDamaged(path, f"it can't be read ({error.strerror})") from error


def _is_known(entry: _Document) -> bool:
    current_hashes = [version.sha256 for version in entry.versions if version.is_current and not version.is_copy]
    same = DocumentVersion.objects.filter(sha256__in=current_hashes, is_current=True)
    return Document.objects.filter(pk=entry.id).exists() or same.exists()


def _import(folder: Path, entry: _Document, tenant: str) -> None:
    """Store the originals, then write everything in one transaction."""
    document = Document(
        pk=entry.id,
        title=entry.title,
        created_at=entry.created_at,
        deleted_at=entry.deleted_at,
        document_date=entry.document_date,
        date_is_guessed=entry.date_is_guessed,
    )
    versions = [_stored(folder, document, each) for each in entry.versions]
    with transaction.atomic():
        for version in versions:
            objects.hold(version.storage_key, version.size_bytes)
        if entry.correspondent:
            document.correspondent = labels.with_names(Correspondent, [entry.correspondent])[0]
        document.save(force_insert=True)
        document.tags.set(labels.with_names(Tag, entry.tags))
        DocumentVersion.objects.bulk_create(versions)
        Note.objects.bulk_create(Note(document=document, **note.model_dump()) for note in entry.notes)
        AuditEntry.objects.bulk_create(
            AuditEntry(document_id=document.pk, **deed.model_dump()) for deed in entry.history
        )
        audit.record(AuditAction.IMPORTED, document.pk, None, tenant=tenant)
        if entry.deleted_at is None:
            enqueue_processing(document, next(each.number for each in versions if each.is_current))


def _stored(folder: Path, document: Document, described: _Version) -> DocumentVersion:
    """Put an original into the store. What an import that broke off has put there already is taken as it is."""
    key = key_of(current(), document.pk, version=described.number)
    with (folder / described.file).open("rb") as file:
        object_store().put(key, file, described.sha256)
    return DocumentVersion(document=document, storage_key=key, **described.model_dump(exclude={"file"}))
