"""Taking a document in: the original first, then one transaction with everything that is known about it."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from dms_project.tenancy import current
from documents import audit, editing, labels, objects
from documents.conf import conf
from documents.exceptions import EmptyFile, StorageUnavailable, TypeRefused
from documents.lifecycle import enqueue_processing, restore_if_trashed
from documents.lookup import locked
from documents.models import FILE_NAME_MAX_LENGTH, TITLE_MAX_LENGTH, Document, DocumentVersion
from documents.processing.cleaning import clean_line
from documents.processing.media_types import sniff
from documents.states import AuditAction
from documents.storage import key_of, object_store

logger = logging.getLogger(__name__)

FALLBACK_NAME = "document"
_FILE_ENDING = re.compile(r"(?<=.)\.[A-Za-z0-9]{1,5}$")


@dataclass(frozen=True)
class Upload:
    """A file as it arrived, with what was found out on the way."""

    file: IO[bytes]
    file_name: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True)
class Ingested:
    """What became of an upload. ``duplicate``: the tenant had these bytes already, and this is their document."""

    document: Document
    duplicate: bool = False
    restored: bool = False


def ingest(upload: Upload, title: str, user: User, tags: Sequence[str] = ()) -> Ingested:
    """Store an upload in the active tenant, and have it processed.

    Begins and ends its own transaction: none may be open. If it can't be known whether that transaction was committed
    (the connection was lost in the middle), the object stays, and the error is passed on.

    Args:
        title: May be empty: then the file's name is the title, without its ending.
        tags: A document that has these bytes already gets those of them that it hasn't.

    Raises:
        EmptyFile, TypeRefused, InvalidValue: Nothing was stored.
        StorageUnavailable: Nothing was stored.
    """
    if not upload.size_bytes:
        raise EmptyFile("The file is empty.")
    mime_type = sniff(upload.file, upload.file_name)
    if mime_type in conf.refused_types:
        raise TypeRefused(f"Files of type {mime_type} are not taken in: programs are no documents.")
    tags = labels.clean_names(tags)
    known = _take_known(upload, user, tags)
    if known:
        return known
    document = Document(pk=uuid4(), title=_title(title, upload.file_name), created_by=user)
    key = key_of(current(), document.pk, version=1)
    object_store().put(key, upload.file, upload.sha256)
    version = DocumentVersion(
        document=document,
        number=1,
        sha256=upload.sha256,
        size_bytes=upload.size_bytes,
        mime_type=mime_type,
        file_name=display_name(upload.file_name),
        storage_key=key,
    )
    return _write(document, version, upload, user, tags)


def display_name(file_name: str) -> str:
    """Return the last part of a file's name, fit to be shown: one line, nothing invisible, never empty."""
    last = file_name.replace("\\", "/").rstrip("/ ").rpartition("/")[2]
    name = clean_line(last, FILE_NAME_MAX_LENGTH)
    return name if name.strip(". ") else FALLBACK_NAME


def _title(title: str, file_name: str) -> str:
    # Without its ending, since "Mietvertrag.pdf" would be found by nothing but "Mietvertrag.pdf".
    return clean_line(title, TITLE_MAX_LENGTH) or _FILE_ENDING.sub("", display_name(file_name))


def _write(document: Document, version: DocumentVersion, upload: Upload, user: User, tags: Sequence[str]) -> Ingested:
    """Write the rows and the job. The object is stored by now, and goes again if the rows surely don't exist."""
    committing = False
    try:
        with transaction.atomic(durable=True):
            objects.hold(version.storage_key, version.size_bytes)
            document.save(force_insert=True)
            version.save(force_insert=True)
            audit.record(AuditAction.UPLOADED, document.pk, user, file_name=version.file_name, sha256=version.sha256)
            if tags:
                editing.add_tags(document, tags, user)
            enqueue_processing(document, version.number)
            committing = True
    except BaseException as error:
        certainly_rolled_back = not committing or isinstance(error, IntegrityError)
        if not certainly_rolled_back:
            logger.warning("Nobody knows whether document %s was committed; its object stays.", document.pk)
            raise
        if not isinstance(error, StorageUnavailable):  # it would only keep the user waiting
            objects.discard(version.storage_key)
        known = isinstance(error, IntegrityError) and _take_known(upload, user, tags)
        if known:
            return known
        raise
    return Ingested(document)


def _take_known(upload: Upload, user: User, tags: Sequence[str]) -> Ingested | None:
    """Return the document that has these bytes already, out of the trash if it lay there."""
    same = DocumentVersion.objects.filter(sha256=upload.sha256, is_current=True)
    version = same.select_related("document").first()
    if version is None:
        return None
    with transaction.atomic():
        audit.record(AuditAction.UPLOADED_AGAIN, version.document_id, user, file_name=display_name(upload.file_name))
        restored = restore_if_trashed(version.document_id, user)
        if tags:
            editing.add_tags(locked(version.document_id), tags, user)
    version.document.refresh_from_db()
    return Ingested(version.document, duplicate=True, restored=restored)
