"""Archive versions: PDFs with recognised text, which lie beside their originals. Keeping them in the store."""

import hashlib
from pathlib import Path
from secrets import token_hex

from dms_project.tenancy import current
from documents.models import DocumentVersion
from documents.objects import OwnedObject
from documents.storage import key_of, object_store


def keep(version: DocumentVersion, path: Path) -> OwnedObject:
    """Put an archive version into the store, for the row to name. Each has a key of its own, as thumbnails have.

    Raises:
        StorageUnavailable
    """
    key = key_of(current(), version.document_id, version.number, f"archive-{token_hex(8)}")
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        kept = OwnedObject(key, path.stat().st_size, sha256)
        object_store().put(key, file, kept.sha256)
    return kept


def archive_of(version: DocumentVersion) -> OwnedObject | None:
    """Return a version's archive version, if there is one."""
    if not version.archive_key:
        return None
    return OwnedObject(version.archive_key, version.archive_size_bytes, version.archive_sha256)
