"""Comparing rows with objects, both ways, in constant memory: what is wrong, and what to do about it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from dms_project.tenancy import fleet, use
from documents.conf import conf
from documents.exceptions import ObjectDamaged, ObjectMissing
from documents.models import DocumentVersion
from documents.objects import OwnedObject, objects_of, owned_among
from documents.orphans import is_old, unnamed_objects
from documents.storage import object_store, parse_key

_BATCH = 500


class Fault(StrEnum):
    """What can be wrong."""

    MISSING = "missing"
    DAMAGED = "damaged"
    ORPHAN = "orphan"
    UNFINISHED = "unfinished"
    STRAY = "stray"


_RESTORE = "put it back from a backup of the storage, under the same key"
_REMAKE = "reprocess the document: it is made from the original"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, with what to do next. ``document_id`` only if a row is concerned."""

    tenant: str
    fault: Fault
    key: str
    detail: str
    advice: str
    document_id: UUID | None = None


@dataclass
class Verified:
    """How much was compared so far. ``young``: objects without a row that may belong to uploads under way."""

    objects: int = 0
    bytes: int = 0
    young: int = 0


def verify(tenant: str, so_far: Verified, progress: Callable[[], None] = lambda: None) -> Iterator[Problem]:
    """Yield what is wrong with the rows and objects of a tenant, which need not exist.

    Reads every object whole. Uploads and edits may go on meanwhile: what they change is not taken for a problem.

    Args:
        so_far: Counted up.
        progress: Called after each object.

    Raises:
        StorageUnavailable: Nothing is known about the rest.
    """
    for version, owned in _owned_by_rows(tenant):
        found = _wrong_with(tenant, version, owned)
        so_far.objects += 1
        so_far.bytes += owned.size_bytes
        progress()
        if found:
            yield found
    yield from _wrong_objects(tenant, so_far)


def _wrong_objects(tenant: str, so_far: Verified) -> Iterator[Problem]:
    remove = f"remove it with manage.py documents collect-orphans --tenant {tenant}"
    why = "no row names it" if fleet.exists(tenant) else f"there is no tenant {tenant}"
    for stored in unnamed_objects(tenant):
        if not parse_key(stored.key):
            yield Problem(tenant, Fault.STRAY, stored.key, "nothing here gives such names", "move it elsewhere")
        elif is_old(stored.modified_at, conf.orphan_grace):
            yield Problem(tenant, Fault.ORPHAN, stored.key, why, remove)
        else:
            so_far.young += 1
    for unfinished in object_store().list_unfinished(f"{tenant}/"):
        if is_old(unfinished.begun_at, conf.orphan_grace):
            detail = f"a put that began on {unfinished.begun_at:%Y-%m-%d %H:%M} UTC and never ended"
            yield Problem(tenant, Fault.UNFINISHED, unfinished.key, detail, remove)


def _owned_by_rows(tenant: str) -> Iterator[tuple[DocumentVersion, OwnedObject]]:
    """Yield what the tenant's rows name, a batch of rows at a time: no transaction, no cursor, no list of all."""
    if not fleet.exists(tenant):
        return
    last = 0
    while True:
        with use(tenant):
            batch = list(DocumentVersion.objects.filter(pk__gt=last).order_by("pk")[:_BATCH])
            owned = [(version, each) for version in batch for each in objects_of(version)]
        if not batch:
            return
        yield from owned
        last = batch[-1].pk


def _wrong_with(tenant: str, version: DocumentVersion, owned: OwnedObject) -> Problem | None:
    fault, detail = _compare(owned)
    if fault is None:
        return None
    with use(tenant):
        if owned.key not in owned_among([owned.key]):
            return None  # deleted, row and object, since the row was read
    whose = f"of document {version.document_id}, version {version.number}: {detail}"
    advice = _RESTORE if owned.key == version.storage_key else _REMAKE
    return Problem(tenant, fault, owned.key, whose, advice, version.document_id)


def _compare(owned: OwnedObject) -> tuple[Fault | None, str]:
    try:
        with object_store().open_whole(owned.key, size_bytes=owned.size_bytes, sha256=owned.sha256) as reader:
            for _ in reader:
                pass
    except ObjectMissing:
        return Fault.MISSING, "it is not there"
    except ObjectDamaged as error:
        return Fault.DAMAGED, error.detail
    return None, ""
