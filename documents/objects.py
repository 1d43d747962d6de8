"""Which objects of the store belong to a version, and how a row that names one comes to be true and stays so."""

import logging
from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from documents.exceptions import ObjectMissing, StorageError, StorageUnavailable
from documents.models import DocumentVersion, UploadPiece
from documents.storage import object_store, parse_key

logger = logging.getLogger(__name__)

# Of the whole database; the key begins with the tenant.
_LOCK = "hashtextextended(%s, 0)"


@dataclass(frozen=True)
class OwnedObject:
    """An object as its version's rows describe it."""

    key: str
    size_bytes: int
    sha256: str


def original_of(version: DocumentVersion) -> OwnedObject:
    """Return the original, as it was uploaded."""
    return OwnedObject(version.storage_key, version.size_bytes, version.sha256)


def readable_of(version: DocumentVersion) -> OwnedObject:
    """Return what can be read: the original or, of one that is locked with a password, the copy without it."""
    if version.unlocked_key:
        return OwnedObject(version.unlocked_key, version.unlocked_size_bytes, version.unlocked_sha256)
    return original_of(version)


def objects_of(version: DocumentVersion) -> list[OwnedObject]:
    """Return every object that a version owns.

    Whoever puts another kind of object beside the original adds it here: what is missing here is an orphan to the
    collector, and is removed. Nothing but the version's own rows decides, whatever lies in the store.
    """
    owned = [original_of(version)]
    if version.unlocked_key:
        owned.append(readable_of(version))
    if version.thumbnail_key:
        owned.append(OwnedObject(version.thumbnail_key, version.thumbnail_size_bytes, version.thumbnail_sha256))
    if version.archive_key:
        owned.append(OwnedObject(version.archive_key, version.archive_size_bytes, version.archive_sha256))
    return owned


def owned_among(keys: Collection[str]) -> set[str]:
    """Return those of these keys of the active tenant that belong to a version, or to an upload that goes on."""
    documents = {parts.document_id for key in keys if (parts := parse_key(key))}
    made = [key for key in keys if key]
    named = Q(storage_key__in=keys) | Q(thumbnail_key__in=made) | Q(archive_key__in=made) | Q(unlocked_key__in=made)
    versions = DocumentVersion.objects.filter(Q(document__in=documents) | named)
    owned = {owned.key for version in versions for owned in objects_of(version)}
    owned.update(UploadPiece.objects.filter(storage_key__in=keys).values_list("storage_key", flat=True))
    return owned.intersection(keys)


def hold(key: str, size_bytes: int) -> None:
    """Make sure that an object is there, whole, and stays until the current transaction ends.

    Call it first in the transaction that writes the row which names the object. The collector, which removes what no
    row names, waits for that transaction, or was there before it, and then the object is missing.

    Raises:
        StorageUnavailable: It is not there, or not as it was put. Write no row; the whole may be tried again.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})", [key])
    try:
        stored = object_store().size(key)
    except ObjectMissing as error:
        raise StorageUnavailable(f"{key} was put and is not there any more.") from error
    if stored != size_bytes:
        raise StorageUnavailable(f"{key} has {stored} bytes, but {size_bytes} were put: the store altered it.")


def lock_against_writers(key: str) -> bool:
    """Keep others from ``hold()`` of an object until the current transaction ends; False if somebody holds it now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_try_advisory_xact_lock({_LOCK})", [key])
        return bool(cursor.fetchone()[0])


def discard(key: str) -> None:
    """Delete an object that no row names. If the store can't do it now, the log says which one is left."""
    try:
        object_store().delete(key)
    except StorageError as error:
        logger.warning("The object %s belongs to no document and could not be removed: %s", key, error)
