"""Taking a document in: the original first, then one transaction with everything that is known about it."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from dms_project.tenancy import current
from documents import audit, editing, intake, labels, objects
from documents.exceptions import DuplicateRefused, EmptyFile, StorageUnavailable
from documents.lifecycle import enqueue_processing, restore_if_trashed
from documents.lookup import locked
from documents.models import TITLE_MAX_LENGTH, Document, DocumentVersion, IntakeRules
from documents.names import display_name, fitting_name, split
from documents.processing.cleaning import clean_line
from documents.processing.media_types import sniff
from documents.states import AuditAction, Duplicates
from documents.storage import key_of, object_store

logger = logging.getLogger(__name__)


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


#: Called in the transaction that writes what became of an upload.
Then = Callable[[Ingested], None]


def _nothing_more(ingested: Ingested) -> None:
    """End the transaction as it is."""


def ingest(upload: Upload, title: str, user: User, tags: Sequence[str] = (), *, then: Then = _nothing_more) -> Ingested:
    """Store an upload in the active tenant, and have it processed.

    Begins and ends its own transaction: none may be open. If it can't be known whether that transaction was committed
    (the connection was lost in the middle), the object stays, and the error is passed on.

    Args:
        title: May be empty: then the file's name is the title, without its ending.
        tags: A document that has these bytes already gets those of them that it hasn't.
        then: Writes in the same transaction; if it raises, nothing is stored.

    Raises:
        EmptyFile, TypeRefused, FileTooLarge, TenantFull, DuplicateRefused, InvalidValue: Nothing was stored.
        StorageUnavailable: Nothing was stored.
    """
    if not upload.size_bytes:
        raise EmptyFile("The file is empty.")
    mime_type = sniff(upload.file, upload.file_name)
    rules = intake.rules()
    tags = labels.clean_names(tags)
    known = _known(upload)
    if not (known and rules.duplicates == Duplicates.LINK):
        intake.check(rules, mime_type, upload.size_bytes)
    if known and rules.duplicates != Duplicates.ALLOW:
        return _take_known(known, rules, upload, user, tags, then)
    document = Document(pk=uuid4(), title=_title(title, upload.file_name), created_by=user)
    key = key_of(current(), document.pk, version=1)
    object_store().put(key, upload.file, upload.sha256)
    version = DocumentVersion(
        document=document,
        number=1,
        sha256=upload.sha256,
        size_bytes=upload.size_bytes,
        mime_type=mime_type,
        file_name=fitting_name(upload.file_name, mime_type),
        storage_key=key,
        is_copy=known is not None,
    )
    return _write(document, version, rules, upload, user, tags, then)


def _title(title: str, file_name: str) -> str:
    # Without its ending, since "Mietvertrag.pdf" would be found by nothing but "Mietvertrag.pdf".
    return clean_line(title, TITLE_MAX_LENGTH) or split(display_name(file_name))[0]


def _write(
    document: Document,
    version: DocumentVersion,
    rules: IntakeRules,
    upload: Upload,
    user: User,
    tags: Sequence[str],
    then: Then,
) -> Ingested:
    """Write the rows and the job. The object is stored by now, and goes again if the rows surely don't exist."""
    committing = False
    try:
        with transaction.atomic(durable=True):
            objects.hold(version.storage_key, version.size_bytes)
            intake.hold_room(rules, version.size_bytes)
            document.save(force_insert=True)
            version.save(force_insert=True)
            given = display_name(upload.file_name)
            audit.record(AuditAction.UPLOADED, document.pk, user, file_name=given, sha256=version.sha256)
            if tags:
                editing.add_tags(document, tags, user)
            enqueue_processing(document, version.number)
            ingested = Ingested(document)
            then(ingested)
            committing = True
    except BaseException as error:
        certainly_rolled_back = not committing or isinstance(error, IntegrityError)
        if not certainly_rolled_back:
            logger.warning("Nobody knows whether document %s was committed; its object stays.", document.pk)
            raise
        known = _known(upload) if isinstance(error, IntegrityError) else None
        if known and rules.duplicates == Duplicates.ALLOW and not version.is_copy:
            version.is_copy = True  # somebody else was first, at the same time
            return _write(document, version, rules, upload, user, tags, then)
        if not isinstance(error, StorageUnavailable):  # it would only keep the user waiting
            objects.discard(version.storage_key)
        if known:
            return _take_known(known, rules, upload, user, tags, then)
        raise
    return ingested


def _known(upload: Upload) -> DocumentVersion | None:
    """Return a version that has these bytes already, with its document; rather the first than a copy."""
    same = DocumentVersion.objects.filter(sha256=upload.sha256, is_current=True)
    return same.select_related("document").order_by("is_copy", "pk").first()


def _take_known(
    version: DocumentVersion, rules: IntakeRules, upload: Upload, user: User, tags: Sequence[str], then: Then
) -> Ingested:
    """Return the document that has these bytes already, out of the trash if it lay there; or say that it is refused."""
    if rules.duplicates == Duplicates.REFUSE:
        raise DuplicateRefused(version.document_id, version.document.title)
    with transaction.atomic():
        audit.record(AuditAction.UPLOADED_AGAIN, version.document_id, user, file_name=display_name(upload.file_name))
        restored = restore_if_trashed(version.document_id, user)
        if tags:
            editing.add_tags(locked(version.document_id), tags, user)
        ingested = Ingested(version.document, duplicate=True, restored=restored)
        then(ingested)
    version.document.refresh_from_db()
    return ingested
