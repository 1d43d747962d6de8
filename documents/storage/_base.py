"""The interface of the object store, and what is the same for every kind of it."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import IO, TypeVar

from documents.conf import conf
from documents.exceptions import ObjectDamaged, ObjectExists
from documents.storage._reader import ObjectReader
from documents.storage._time_limit import within

T = TypeVar("T")


@dataclass(frozen=True)
class StoredObject:
    """An object as the store lists it. ``modified_at`` is by the store's clock."""

    key: str
    size_bytes: int
    modified_at: datetime


@dataclass(frozen=True)
class Unfinished:
    """A put that has begun and not ended: parts that S3 keeps, or a file that has not got its name yet.

    Nobody sees it as an object. It belongs to a put that is under way, or was cut off.
    """

    key: str
    handle: str
    begun_at: datetime


class ObjectStore(ABC):
    """What documents need of a store. Every method may raise ``StorageUnavailable``, and does so in bounded time."""

    # These methods are the public interface, the same for every store.

    def put(self, key: str, file: IO[bytes], sha256: str) -> None:
        """Store the whole of a seekable file. When this returns it is durable.

        Putting the same bytes again succeeds, since the answer to the first time may have been lost.

        Raises:
            ObjectExists: The key has other bytes; they are untouched.
            StorageUnavailable: Nothing is there, or the whole, if only the answer was lost.
        """
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        seconds = conf.storage_timeout + size / conf.storage_min_rate
        if not within(seconds, lambda: self._put_if_absent(key, file, sha256)):
            present = within(conf.storage_timeout, lambda: self._sha256(key))
            if present != sha256:
                raise ObjectExists(f"There is another object under {key}; it was left as it is.")

    def open(self, key: str, start: int = 0, length: int | None = None) -> ObjectReader:
        """Open an object for reading, from byte ``start`` on; ``length`` None: to its end.

        Raises:
            ObjectMissing: At once, not at the first chunk.
        """
        reader = within(conf.storage_timeout, lambda: self._open(key, start, length))
        return self._begin(reader)

    def open_whole(self, key: str, *, size_bytes: int, sha256: str) -> ObjectReader:
        """Open an object to read all of it, and have it compared with what was put.

        Raises:
            ObjectMissing
            ObjectDamaged: At once, if its size differs or there is but one chunk; else instead of the last chunk.
        """
        reader = within(conf.storage_timeout, lambda: self._open(key, 0, None))
        if reader.length != size_bytes:
            reader.close()
            raise ObjectDamaged(key, f"it has {reader.length} bytes instead of {size_bytes}")
        return self._begin(reader, sha256)

    def fetch(self, key: str, target: IO[bytes], *, size_bytes: int, sha256: str) -> None:
        """Copy a whole object into ``target``.

        Raises:
            ObjectMissing
            ObjectDamaged: It is not what the caller expects.
        """
        with self.open_whole(key, size_bytes=size_bytes, sha256=sha256) as reader:
            for chunk in reader:
                target.write(chunk)
        target.flush()

    def size(self, key: str) -> int:
        """Return the size in bytes, or raise ``ObjectMissing``."""
        return within(conf.storage_timeout, lambda: self._size(key))

    def delete(self, key: str) -> None:
        """Delete an object; one that isn't there is no error."""
        within(conf.storage_timeout, lambda: self._delete(key))

    def list_objects(self, prefix: str = "") -> Iterator[StoredObject]:
        """Yield the objects whose keys begin with ``prefix``, which is empty or ends with a slash, in no order."""
        return self._each_in_time(self._list_objects(prefix))

    def list_keys(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys alone."""
        return (stored.key for stored in self.list_objects(prefix))

    def list_unfinished(self, prefix: str = "") -> Iterator[Unfinished]:
        """Yield the puts that have not ended, of keys that begin with ``prefix``."""
        return self._each_in_time(self._list_unfinished(prefix))

    def list_tenants(self) -> Iterator[str]:
        """Yield the first parts of all keys, each once."""
        return self._each_in_time(self._list_tenants())

    def abandon(self, unfinished: Unfinished) -> None:
        """Remove what a put has left; the put itself, if it is still under way, fails."""
        within(conf.storage_timeout, lambda: self._abandon(unfinished))

    def delete_tenant(self, tenant: str) -> None:
        """Delete everything that a tenant has, also what a put that was cut off has left."""
        for stored in self.list_objects(f"{tenant}/"):
            self.delete(stored.key)
        for unfinished in self.list_unfinished(f"{tenant}/"):
            self.abandon(unfinished)

    def check(self) -> None:
        """Return if the store can be reached with the credentials and the bucket or folder it was given."""
        within(conf.storage_timeout, self._check)

    def is_prepared(self) -> bool:
        """Say whether ``prepare`` was called some day, for a store that needs it."""
        return True

    def is_empty(self) -> bool:
        """Say whether nothing is in it. May be asked before it is prepared."""
        return next(self.list_tenants(), None) is None

    def prepare(self) -> None:
        """Make what the store needs before its first use. May be repeated."""
        self.check()

    # These methods must be given by a store. They need not care for time.

    @abstractmethod
    def _put_if_absent(self, key: str, file: IO[bytes], sha256: str) -> bool:
        """Store the file, whose position is its start; return False if the key is taken."""

    @abstractmethod
    def _sha256(self, key: str) -> str:
        """Return the SHA-256 of a stored object in hexadecimal digits."""

    @abstractmethod
    def _open(self, key: str, start: int, length: int | None) -> ObjectReader: ...

    @abstractmethod
    def _size(self, key: str) -> int: ...

    @abstractmethod
    def _delete(self, key: str) -> None: ...

    @abstractmethod
    def _list_objects(self, prefix: str) -> Iterator[list[StoredObject]]:
        """Yield the objects in portions, each of which takes a moment."""

    @abstractmethod
    def _list_unfinished(self, prefix: str) -> Iterator[list[Unfinished]]: ...

    @abstractmethod
    def _list_tenants(self) -> Iterator[list[str]]: ...

    @abstractmethod
    def _abandon(self, unfinished: Unfinished) -> None: ...

    @abstractmethod
    def _check(self) -> None: ...

    @staticmethod
    def _begin(reader: ObjectReader, expected_sha256: str | None = None) -> ObjectReader:
        try:
            reader.begin(expected_sha256)
        except BaseException:
            reader.close()
            raise
        return reader

    @staticmethod
    def _each_in_time(portions: Iterator[list[T]]) -> Iterator[T]:
        while (portion := within(conf.storage_timeout, lambda: next(portions, None))) is not None:
            yield from portion
