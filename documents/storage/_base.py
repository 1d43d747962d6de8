"""The interface of the object store, and what is the same for every kind of it."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import IO, Self

from documents.exceptions import ObjectDamaged, ObjectExists, StorageUnavailable

CHUNK_BYTES = 256 * 1024


class ObjectReader(Iterator[bytes]):
    """The bytes of an object, or of a range of it, a chunk at a time. Close it, or use it as a context manager.

    Ends with ``StorageUnavailable`` rather than short if the store breaks off.
    """

    def __init__(self, length: int, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        self.length = length
        self._left = length
        self._read = read
        self.close = close

    def __next__(self) -> bytes:
        if not self._left:
            self.close()
            raise StopIteration
        chunk = self._read(min(CHUNK_BYTES, self._left))
        if not chunk:
            self.close()
            raise StorageUnavailable(f"The object ended {self._left} bytes early.")
        self._left -= len(chunk)
        return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class ObjectStore(ABC):
    """What documents need of a store. Every method may raise ``StorageUnavailable``."""

    # These methods are the public interface, the same for every store.

    def put(self, key: str, file: IO[bytes], sha256: str) -> None:
        """Store the whole of a seekable file. When this returns it is durable.

        Putting the same bytes again succeeds, since the answer to the first time may have been lost.

        Raises:
            ObjectExists: The key has other bytes; they are untouched.
        """
        file.seek(0)
        if not self._put_if_absent(key, file, sha256) and self._sha256(key) != sha256:
            raise ObjectExists(f"There is another object under {key}; it was left as it is.")

    def open(self, key: str, start: int = 0, length: int | None = None) -> ObjectReader:
        """Open an object for reading, from byte ``start`` on; ``length`` None: to its end.

        Raises:
            ObjectMissing: At once, not at the first chunk.
        """
        return self._open(key, start, length)

    def fetch(self, key: str, target: IO[bytes], *, sha256: str, size_bytes: int) -> None:
        """Copy a whole object into ``target``.

        Raises:
            ObjectMissing
            ObjectDamaged: It is not what the caller expects.
        """
        digest, size = hashlib.sha256(), 0
        with self.open(key) as reader:
            for chunk in reader:
                digest.update(chunk)
                size += len(chunk)
                target.write(chunk)
        target.flush()
        if (size, digest.hexdigest()) != (size_bytes, sha256):
            raise ObjectDamaged(f"{key} is not what was stored: {size} bytes, SHA-256 {digest.hexdigest()}.")

    def delete_tenant(self, tenant: str) -> None:
        """Delete everything that a tenant has."""
        for key in self.list_keys(f"{tenant}/"):
            self.delete(key)

    # These methods must be given by a store.

    @abstractmethod
    def size(self, key: str) -> int:
        """Return the size in bytes, or raise ``ObjectMissing``."""

    @abstractmethod
    def delete(self, key: str) -> None:
        """Delete an object; one that isn't there is no error."""

    @abstractmethod
    def list_keys(self, prefix: str = "") -> Iterator[str]:
        """Yield the keys that begin with ``prefix``, which is empty or ends with a slash."""

    @abstractmethod
    def check(self) -> None:
        """Return if the store can be reached with the credentials and the bucket or folder it was given."""

    @abstractmethod
    def _put_if_absent(self, key: str, file: IO[bytes], sha256: str) -> bool:
        """Store the file; return False if the key is taken."""

    @abstractmethod
    def _sha256(self, key: str) -> str:
        """Return the SHA-256 of a stored object in hexadecimal digits."""

    @abstractmethod
    def _open(self, key: str, start: int, length: int | None) -> ObjectReader: ...
