"""The object store in a local folder."""

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, TypeVar

from django.core.files.storage import FileSystemStorage

from documents.exceptions import ObjectMissing, OutageReason, StorageFull, StorageUnavailable
from documents.storage._base import ObjectStore, StoredObject, Unfinished
from documents.storage._reader import CHUNK_BYTES, ObjectReader

T = TypeVar("T")

#: Tells the folder from the empty one that is in its place while its volume isn't mounted.
MARKER = ".dms-storage"
_MARKER_TEXT = "This folder holds the originals of documents. Without this file it counts as not mounted.\n"
_PORTION = 1000
_REASON = {
    errno.EROFS: OutageReason.READ_ONLY,
    errno.EACCES: OutageReason.REFUSED,
    errno.EPERM: OutageReason.REFUSED,
}


class LocalStore(ObjectStore):
    """A folder. Its file system must know hard links: they are how a name is taken only if it is free."""

    def __init__(self, storage: FileSystemStorage) -> None:
        self._storage = storage
        self._root = Path(storage.location)

    def is_prepared(self) -> bool:
        return os.path.isfile(self._root / MARKER)

    def is_empty(self) -> bool:
        with self._errors(str(self._root)):
            return not self._root.is_dir() or not any(self._root.iterdir())

    def prepare(self) -> None:
        """Make the folder and mark it. From then on it is never made again: if it is gone, that is an outage."""
        with self._errors(str(self._root)):
            _make_folders(self._root)
            marker = self._root / MARKER
            if not marker.exists():
                marker.touch(mode=0o600)
                marker.write_text(_MARKER_TEXT)
                _fsync_folder(self._root)
        self.check()

    def delete_tenant(self, tenant: str) -> None:
        # The whole folder: empty ones, too.
        with self._errors(tenant), suppress(FileNotFoundError):
            self._demand_folder()
            shutil.rmtree(self._path(tenant))

    def _put_if_absent(self, key: str, file: IO[bytes], sha256: str) -> bool:
        path = self._path(key)
        try:
            with self._errors(key):
                self._demand_folder()
                _make_folders(path.parent, above=self._root)
                return self._write_and_link(path, file)
        except ObjectMissing as error:  # somebody removed the folder that was just made
            raise StorageUnavailable(f"{key}: its folder vanished.") from error
        finally:
            _remove_empty_folders(path)  # there is nothing in them unless this has worked

    def _write_and_link(self, path: Path, file: IO[bytes]) -> bool:
        # Under another name until it is whole and on the disk: nobody sees half a file, not even after a crash.
        descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with open(descriptor, "wb") as target:
                shutil.copyfileobj(file, target, CHUNK_BYTES)
                target.flush()
                os.fsync(descriptor)
            try:
                os.link(partial, path)
            except FileExistsError:
                return False
        finally:
            with suppress(FileNotFoundError):
                os.unlink(partial)
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
        return ObjectReader(key, available if length is None else min(length, available), read, file.close)

    def _size(self, key: str) -> int:
        with self._errors(key):
            return self._path(key).stat().st_size

    def _delete(self, key: str) -> None:
        path = self._path(key)
        with suppress(ObjectMissing), self._errors(key):
            path.unlink()
        _remove_empty_folders(path)

    def _list_objects(self, prefix: str) -> Iterator[list[StoredObject]]:
        return self._list(prefix, self._as_object)

    def _list_unfinished(self, prefix: str) -> Iterator[list[Unfinished]]:
        return self._list(prefix, self._as_unfinished)

    def _list_tenants(self) -> Iterator[list[str]]:
        with self._errors("the storage folder"):
            self._demand_folder()
            with os.scandir(self._root) as entries:
                yield [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]

    def _abandon(self, unfinished: Unfinished) -> None:
        self._delete(unfinished.handle)

    def _check(self) -> None:
        with self._errors("the storage folder"):
            self._demand_folder()
            if os.statvfs(self._root).f_flag & os.ST_RDONLY:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            if not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def _list(self, prefix: str, describe: Callable[["os.DirEntry[str]"], T | None]) -> Iterator[list[T]]:
        with self._errors(prefix):
            self._demand_folder()
            found = (item for entry in _files_in(self._path(prefix)) if (item := describe(entry)) is not None)
            while portion := list(islice(found, _PORTION)):
                yield portion
            self._demand_folder()  # or it wasn't the whole

    def _as_object(self, entry: "os.DirEntry[str]") -> StoredObject | None:
        if entry.name.startswith("."):
            return None
        with suppress(FileNotFoundError):
            about = entry.stat(follow_symlinks=False)
            return StoredObject(self._key(entry.path), about.st_size, datetime.fromtimestamp(about.st_mtime, UTC))
        return None

    def _as_unfinished(self, entry: "os.DirEntry[str]") -> Unfinished | None:
        if not entry.name.startswith(".") or entry.name == MARKER:
            return None
        kind = entry.name.split(".")[1]
        with suppress(FileNotFoundError):
            begun_at = datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime, UTC)
            folder = self._key(os.path.dirname(entry.path))
            return Unfinished(f"{folder}/{kind}", self._key(entry.path), begun_at)
        return None

    def _key(self, path: str) -> str:
        return Path(path).relative_to(self._root).as_posix()

    def _path(self, key: str) -> Path:
        return Path(self._storage.path(key)) if key else self._root

    def _demand_folder(self) -> None:
        if not self.is_prepared():
            raise StorageUnavailable(
                f"The storage folder {self._root} is not there, or not the one that was prepared: mount its volume. "
                "If it is new, run: manage.py documents prepare-storage",
                OutageReason.NOT_MOUNTED,
            )

    @contextmanager
    def _errors(self, key: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, NotADirectoryError) as error:
            self._demand_folder()  # a volume that isn't mounted is no reason to call everything lost
            raise ObjectMissing(f"There is no object under {key}.") from error
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise StorageFull(f"{key}: {error.strerror}.") from error
            reason = _REASON.get(error.errno or 0, OutageReason.FAILING)
            raise StorageUnavailable(f"{key}: {error.strerror}.", reason) from error


def _files_in(folder: str | Path) -> "Iterator[os.DirEntry[str]]":
    """Yield the files below a folder, without holding their names in memory. What vanishes meanwhile is passed over."""
    try:
        entries = os.scandir(folder)
    except FileNotFoundError:
        return
    with entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_in(entry.path)
            else:
                yield entry


def _make_folders(folder: Path, above: Path | None = None) -> None:
    """Make a folder and those above it that are missing, each for its owner alone; never ``above`` itself."""
    folders: Iterable[Path] = [folder, *folder.parents]
    for each in reversed([each for each in folders if above is None or above in each.parents]):
        if not each.exists():
            with suppress(FileExistsError):
                each.mkdir(mode=0o700)


def _remove_empty_folders(path: Path) -> None:
    """Remove the folder of a version and that of its document, if nothing else is in them."""
    with suppress(OSError):
        path.parent.rmdir()
        path.parent.parent.rmdir()


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
