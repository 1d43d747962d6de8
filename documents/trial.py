"""Getting the storage ready, and proving that it gives back what it was given."""

import hashlib
import os
import tempfile
from uuid import uuid4

from documents.exceptions import ObjectDamaged
from documents.storage import ObjectStore, key_of

#: No tenant can have this name.
_TENANT = "_trial"
#: In one piece, in several chunks, and in several parts.
SIZES = (1, 2**20 + 1, 17 * 2**20 + 1)


def try_out(store: ObjectStore) -> None:
    """Put objects of several sizes, read them back, compare them bit by bit, and remove them.

    Raises:
        StorageUnavailable: With the reason.
        ObjectDamaged: The store alters what it is given.
    """
    try:
        for size in SIZES:
            _round_trip(store, size)
    finally:
        store.delete_tenant(_TENANT)


def _round_trip(store: ObjectStore, size: int) -> None:
    content = os.urandom(size)
    key, sha256 = key_of(_TENANT, uuid4(), 1), hashlib.sha256(content).hexdigest()
    with tempfile.TemporaryFile() as file:
        file.write(content)
        store.put(key, file, sha256)
    if (stored := store.size(key)) != size:
        raise ObjectDamaged(key, f"the storage makes {stored} bytes of {size} (see DMS_S3_CHECKSUMS)")
    with tempfile.TemporaryFile() as file:
        store.fetch(key, file, sha256=sha256, size_bytes=size)
