"""Having a version's file on this machine while it is worked on."""

import contextlib
import tempfile
from collections.abc import Iterator

from documents.models import DocumentVersion
from documents.objects import OwnedObject, readable_of
from documents.storage import object_store


@contextlib.contextmanager
def fetched(version: DocumentVersion) -> Iterator[str]:
    """Have what can be read of it, whole: the original or, of a locked one, its copy without a password. Yields a path.

    Raises:
        StorageError
    """
    with fetched_object(readable_of(version)) as path:
        yield path


@contextlib.contextmanager
def fetched_object(owned: OwnedObject) -> Iterator[str]:
    """Have an object, whole, in a file without a name: it can't outlive the process."""
    with tempfile.TemporaryFile() as file:
        object_store().fetch(owned.key, file, sha256=owned.sha256, size_bytes=owned.size_bytes)
        yield f"/dev/fd/{file.fileno()}"
