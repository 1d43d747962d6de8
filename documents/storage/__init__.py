"""The object store: the only part of the app that touches files of documents, on disk or in S3.

An object is written once, under a key that is never used again, and never changed.
"""

from functools import lru_cache

from django.core.files.storage import FileSystemStorage, Storage, storages

from documents.storage._base import ObjectStore, StoredObject, Unfinished
from documents.storage._keys import ORIGINAL, KeyParts, key_of, parse_key
from documents.storage._local import LocalStore
from documents.storage._reader import ObjectReader

__all__ = [
    "ALIAS",
    "ORIGINAL",
    "KeyParts",
    "ObjectReader",
    "ObjectStore",
    "StoredObject",
    "Unfinished",
    "key_of",
    "object_store",
    "parse_key",
]

ALIAS = "documents"


def object_store() -> ObjectStore:
    """Return the store that ``STORAGES["documents"]`` describes."""
    return _store_of(storages[ALIAS])


@lru_cache(maxsize=1)
def _store_of(storage: Storage) -> ObjectStore:
    """Return the one store of a storage. A client of S3 costs megabytes and is safe to share between threads."""
    if isinstance(storage, FileSystemStorage):
        return LocalStore(storage)
    from documents.storage._s3 import S3Store  # boto3 takes half a second to load, and a folder doesn't need it

    return S3Store(storage)
