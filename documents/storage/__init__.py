"""The object store: the only part of the app that touches files of documents, on disk or in S3.

An object is written once, under a key that is never used again, and never changed.
"""

from functools import lru_cache
from uuid import UUID

from django.core.files.storage import FileSystemStorage, Storage, storages

from documents.storage._base import ObjectReader, ObjectStore
from documents.storage._local import LocalStore

__all__ = ["ALIAS", "ObjectReader", "ObjectStore", "key_of", "object_store"]

ALIAS = "documents"


def key_of(tenant: str, document_id: UUID, version: int, kind: str = "original") -> str:
    """Return the key of an object. Nothing in it comes from a title or a file name."""
    return f"{tenant}/{document_id}/{version}/{kind}"


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
