"""Objects that no row names, and the collector, which removes them.

They are the price for never having a row without its object: of an upload that broke off between the two, the object
may stay. A key is never used again, so what nobody refers to now nobody will, but for an upload that is under way.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from django.db import transaction

from dms_project.tenancy import PUBLIC, fleet, use
from dms_project.tenancy.names import is_tenant_name
from documents.objects import lock_against_writers, owned_among
from documents.resumable import remove_expired
from documents.storage import StoredObject, Unfinished, object_store, parse_key

_BATCH = 500


@dataclass
class Collected:
    """What a run of the collector did, or would do."""

    objects: int = 0
    bytes: int = 0
    unfinished: int = 0
    #: Objects without a row which may belong to an upload under way: too young, or being written down just now.
    spared: int = 0

    def __iadd__(self, other: "Collected") -> "Collected":
        self.objects += other.objects
        self.bytes += other.bytes
        self.unfinished += other.unfinished
        self.spared += other.spared
        return self


def tenants_with_objects() -> list[str]:
    """Return every tenant, and every name in the store that a deleted tenant may have had."""
    tenants = [name for name in fleet.names() if name != PUBLIC]
    return sorted({*tenants, *filter(is_tenant_name, object_store().list_tenants())})


def unnamed_objects(tenant: str) -> Iterator[StoredObject]:
    """Yield the objects under a tenant's name that no row names. The tenant need not exist."""
    stored = object_store().list_objects(f"{tenant}/")
    while batch := list(islice(stored, _BATCH)):
        named = _named_among(tenant, [each.key for each in batch])
        yield from (each for each in batch if each.key not in named)


def is_old(begun_at: datetime, older_than: timedelta) -> bool:
    """Say whether something is older than that; zero: everything is, whatever the store's clock says."""
    return not older_than or begun_at < datetime.now(UTC) - older_than


def collect(
    tenant: str,
    older_than: timedelta,
    *,
    dry_run: bool = False,
    found: Callable[[StoredObject | Unfinished], None] = lambda orphan: None,
) -> Collected:
    """Remove the orphans under a tenant's name, and what puts that were cut off have left.

    Uploads may go on meanwhile. One that has taken longer than ``older_than`` may lose its object: it is answered 503
    then, and writes no row.

    Args:
        found: Is told of each.

    Raises:
        StorageUnavailable: What was removed stays removed; run it again.
    """
    done = Collected()
    if not dry_run and fleet.exists(tenant):
        with use(tenant):
            remove_expired()
    for stored in unnamed_objects(tenant):
        if not parse_key(stored.key):
            continue  # nothing of ours: not for us to remove
        if not is_old(stored.modified_at, older_than) or not (dry_run or _remove(tenant, stored.key)):
            done.spared += 1
            continue
        found(stored)
        done.objects += 1
        done.bytes += stored.size_bytes
    for unfinished in object_store().list_unfinished(f"{tenant}/"):
        if not is_old(unfinished.begun_at, older_than):
            continue
        if not dry_run:
            object_store().abandon(unfinished)
        found(unfinished)
        done.unfinished += 1
    return done


def _remove(tenant: str, key: str) -> bool:
    """Remove an object unless a row names it by now, or somebody is writing that row."""
    with transaction.atomic():
        if not lock_against_writers(key) or _named_among(tenant, [key]):
            return False
        object_store().delete(key)
    return True


def _named_among(tenant: str, keys: list[str]) -> set[str]:
    if not fleet.exists(tenant):
        return set()
    with use(tenant):
        return owned_among(keys)
