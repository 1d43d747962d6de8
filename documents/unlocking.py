"""Opening a PDF that is locked with a password, by a user who knows it. The password is used once and kept nowhere."""

import hashlib
import tempfile
from dataclasses import replace
from io import BufferedRandom
from secrets import token_hex
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.views.decorators.debug import sensitive_variables

from dms_project.tenancy import current
from documents import audit, objects, originals
from documents.conf import conf
from documents.exceptions import NotLocked, StorageUnavailable, WrongPassword
from documents.lifecycle import enqueue_processing
from documents.lookup import current_version, locked
from documents.models import DocumentVersion
from documents.objects import OwnedObject
from documents.processing.child_process import ChildKilled
from documents.processing.findings import Reason, Unreadable
from documents.processing.media_types import PDF
from documents.processing.unlock import unlock as written_without_password
from documents.states import AuditAction, DocumentStatus
from documents.storage import key_of, object_store

# Somebody waits for the answer.
_SECONDS = 20


def is_locked(version: DocumentVersion) -> bool:
    """Return whether a password was found to be missing that may be told now."""
    known = any(step["reason"] == Reason.LOCKED for step in version.document.steps)
    return known and version.mime_type == PDF and not version.unlocked_key


@sensitive_variables("password")
def unlock(document_id: UUID, password: str, user: User) -> None:
    """Keep a copy without the password beside the original, and have that copy read.

    The original stays as it is. Begins and ends its own transaction: none may be open.

    Raises:
        DocumentNotFound
        NotLocked: It isn't a PDF that waits for its password, or none can open it.
        WrongPassword
        StorageError
    """
    version = current_version(document_id)
    if not is_locked(version):
        raise NotLocked("This document doesn't wait for a password.")
    with tempfile.TemporaryFile() as copy:
        _write_copy(version, copy, password)
        kept = _keep(version, copy)
    if not _write(version, kept, user):
        objects.discard(kept.key)


@sensitive_variables("password")
def _write_copy(version: DocumentVersion, copy: BufferedRandom, password: str) -> None:
    limits = conf.processing_limits
    limits = replace(limits, seconds=min(limits.seconds, _SECONDS))
    try:
        with originals.fetched_object(objects.original_of(version)) as path:
            written_without_password(path, copy, password, limits)
    except Unreadable as error:
        if error.reason is Reason.LOCKED:
            raise WrongPassword("This password doesn't open the document.") from None
        raise NotLocked(f"The document can't be opened with a password: {error.detail}.") from None
    except ChildKilled as error:
        raise StorageUnavailable(str(error)) from error


def _keep(version: DocumentVersion, copy: BufferedRandom) -> OwnedObject:
    key = key_of(current(), version.document_id, version.number, f"unlocked-{token_hex(8)}")
    sha256 = hashlib.file_digest(copy, "sha256").hexdigest()
    kept = OwnedObject(key, copy.tell(), sha256)
    object_store().put(key, copy, sha256)
    return kept


def _write(version: DocumentVersion, kept: OwnedObject, user: User) -> bool:
    """Name the copy in its version, and enqueue the reading; return False if somebody else was faster."""
    with transaction.atomic(durable=True):
        objects.hold(kept.key, kept.size_bytes)
        document = locked(version.document_id)
        mine = document.versions.get(is_current=True)
        if mine != version or not is_locked(mine):
            return False
        mine.unlocked_key, mine.unlocked_sha256, mine.unlocked_size_bytes = kept.key, kept.sha256, kept.size_bytes
        mine.save(update_fields=["unlocked_key", "unlocked_sha256", "unlocked_size_bytes"])
        document.status, document.steps = DocumentStatus.PROCESSING, []
        document.save(update_fields=["status", "steps"])
        audit.record(AuditAction.UNLOCKED, document.pk, user)
        enqueue_processing(document, mine.number)
    return True
