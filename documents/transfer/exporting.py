"""Writing a tenant's documents to a folder: the originals as files, everything else as JSON.

``export.json`` says what is there; ``documents.jsonl`` has a line for each document; ``files/`` holds the originals,
under names that people recognise.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

from django.utils import timezone

from dms_project.tenancy import current
from documents.exceptions import ObjectMissing
from documents.models import AuditEntry, Document, DocumentVersion
from documents.storage import object_store

FORMAT = 1
SUMMARY, INDEX, FILES = "export.json", "documents.jsonl", "files"
_BATCH = 100
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*]')
_NAME_BYTES = 150


@dataclass
class Exported:
    """How much was written."""

    documents: int = 0
    files: int = 0
    bytes: int = 0


def export(folder: Path, progress: Callable[[], None] = lambda: None) -> Exported:
    """Write all documents of the active tenant, those in the trash too, to an empty folder.

    What is uploaded or edited meanwhile may be there or not. ``export.json`` is written last: a folder without it is no
    whole export.

    Raises:
        FileExistsError: The folder is not empty.
        StorageError: An original can't be read; the message names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty. Name a folder that is, or that doesn't exist yet.")
    (folder / FILES).mkdir()
    done, digest = Exported(), hashlib.sha256()
    with (folder / INDEX).open("wb") as index:
        for document in _documents():
            entry = _entry(document)
            if not _write_originals(folder, entry, list(document.versions.all()), done):
                continue  # deleted for good meanwhile
            line = json.dumps(entry, default=_text_of, ensure_ascii=False).encode() + b"\n"
            index.write(line)
            digest.update(line)
            done.documents += 1
            progress()
    summary = {
        "format": FORMAT,
        "tenant": current(),
        "exported_at": timezone.now(),
        "documents": done.documents,
        "files": done.files,
        "bytes": done.bytes,
        "sha256_of_documents": digest.hexdigest(),
    }
    (folder / SUMMARY).write_text(json.dumps(summary, default=_text_of, indent=2) + "\n")
    return done


def _text_of(value: date | UUID) -> str:
    """Return what JSON has no type for; of times, each microsecond."""
    return value.isoformat() if isinstance(value, date) else str(value)


def _documents() -> Iterator[Document]:
    """Yield them a batch at a time: no list of all, no transaction that lasts."""
    every = Document.objects.order_by("pk").select_related("correspondent", "created_by")
    every = every.prefetch_related("tags", "notes", "versions")
    last = UUID(int=0)
    while batch := list(every.filter(pk__gt=last)[:_BATCH]):
        yield from batch
        last = batch[-1].pk


def _entry(document: Document) -> dict[str, Any]:
    history = AuditEntry.objects.filter(document_id=document.pk).order_by("pk")
    return {
        "id": document.pk,
        "title": document.title,
        "created_at": document.created_at,
        "created_by": document.created_by.get_username() if document.created_by else "",
        "deleted_at": document.deleted_at,
        "tags": document.names_of_tags,
        "correspondent": document.correspondent.name if document.correspondent else None,
        "document_date": document.document_date,
        "date_is_guessed": document.date_is_guessed,
        "notes": [
            {"text": note.text, "author_name": note.author_name, "created_at": note.created_at}
            for note in sorted(document.notes.all(), key=lambda note: note.pk)
        ],
        "versions": [_version(each) for each in sorted(document.versions.all(), key=lambda each: each.number)],
        "history": list(history.values("at", "actor_name", "action", "details")),
    }


def _version(version: DocumentVersion) -> dict[str, Any]:
    names = ("number", "is_current", "is_copy", "sha256", "size_bytes", "mime_type", "file_name", "created_at")
    return {name: getattr(version, name) for name in names} | {"file": _path(version)}


def _path(version: DocumentVersion) -> str:
    """Return where the original lies in the export: a folder for each version, so that no two names meet."""
    name = _UNSAFE.sub("_", version.file_name).strip(". ") or "document"
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending.encode()) > 10:
        stem, ending = name, ""
    cut = stem.encode()[:_NAME_BYTES].decode(errors="ignore").strip(". ") or "document"
    number = "" if version.number == 1 else f"-{version.number}"
    return f"{FILES}/{version.document_id}{number}/{cut}{f'.{ending}' if ending else ''}"


def _write_originals(folder: Path, entry: dict[str, Any], versions: list[DocumentVersion], done: Exported) -> bool:
    """Write the originals, each compared with its row; False if their document is gone."""
    by_number = {version.number: version for version in versions}
    for described in entry["versions"]:
        version = by_number[described["number"]]
        path = folder / described["file"]
        path.parent.mkdir()
        try:
            with path.open("wb") as file:
                object_store().fetch(version.storage_key, file, size_bytes=version.size_bytes, sha256=version.sha256)
        except ObjectMissing:
            if Document.objects.filter(pk=version.document_id).exists():
                raise
            path.unlink()
            path.parent.rmdir()
            return False
        done.files += 1
        done.bytes += version.size_bytes
    return True
