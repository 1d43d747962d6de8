"""The object store in a local folder."""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from django.core.files.storage import FileSystemStorage

from documents.exceptions import ObjectMissing, StorageUnavailable
from documents.storage._base import CHUNK_BYTES, ObjectReader, ObjectStore


class LocalStore(ObjectStore):
    """A folder. Its file system must know hard links: they are how a name is taken only if it is free."""

    def __init__(self, storage: FileSystemStorage) -> None:
        self._storage = storage
        self._root = Path(storage.location)

    def size(self, key: str) -> int:
        with self._errors(key):
            return self._path(key).stat().st_size

    def delete(self, key: str) -> None:
        path = self._path(key)
        with self._errors(key), suppress(FileNotFoundError):
            path.unlink()
        # Its version's folder and its document's, if nothing else is in them.
        with suppress(OSError):
            path.parent.rmdir()
            path.parent.parent.rmdir()

    def list_keys(self, prefix: str = "") -> Iterator[str]:
        with self._errors(prefix):
            for folder, _, names in os.walk(self._path(prefix) if prefix else self._root):
                for name in names:
                    if not name.startswith("."):
                        yield Path(folder, name).relative_to(self._root).as_posix()

    def delete_tenant(self, tenant: str) -> None:
        # The whole folder, with what an upload that was cut off may have left in it.
        with self._errors(tenant), suppress(FileNotFoundError):
            shutil.rmtree(self._path(tenant))

    def check(self) -> None:
        with self._errors("the storage folder"):
            self._make_folder(self._root)
            if not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self._root))

    def _put_if_absent(self, key: str, file: IO[bytes], sha256: str) -> bool:
        path = self._path(key)
        with self._errors(key):
            self._make_folder(path.parent)
            # Under another name until it is whole and on the disk: nobody sees half a file, not even after a crash.
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".") as partial:
                _copy(file, partial)
                partial.flush()
                os.fsync(partial.fileno())
                try:
                    os.link(partial.name, path)
                except FileExistsError:
                    return False
            for folder in path.parents:
                _fsync_folder(folder)
                if folder == self._root:
                    break
        return True

    def _sha256(self, key: str) -> str:
        with self._errors(key), self._path(key).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _open(self, key: str, start: int, length: int | None) -> ObjectReader:
        with self._errors(key):
            file = self._path(key).open("rb", buffering=0)
            size = os.fstat(file.fileno()).st_size
            file.seek(start)

        def read(at_most: int) -> bytes:
            with self._errors(key):
                return file.read(at_most)

        available = max(size - start, 0)
        return ObjectReader(available if length is None else min(length, available), read, file.close)

    def _path(self, key: str) -> Path:
        return Path(self._storage.path(key))

    def _make_folder(self, folder: Path) -> None:
        """Make a folder and those above it that are missing, each for its owner alone."""
        for missing in reversed([folder, *folder.parents]):
            if not missing.exists():
                with suppress(FileExistsError):
                    missing.mkdir(mode=0o700)

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if not self._root.is_dir():  # a volume that isn't mounted is no reason to call everything lost
                raise StorageUnavailable(f"The storage folder {self._root} is not there.") from error
            raise ObjectMissing(f"There is no object under {key}.") from error
        except OSError as error:
            raise StorageUnavailable(f"{key}: {error.strerror}.") from error


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    while chunk := source.read(CHUNK_BYTES):
        target.write(chunk)


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
