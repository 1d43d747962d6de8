"""Reading an object: in pieces, in bounded time, and compared with what was put."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Self

from documents.conf import conf
from documents.exceptions import ObjectDamaged, OutageReason, StorageUnavailable
from documents.storage._time_limit import within

CHUNK_BYTES = 256 * 1024


class ObjectReader(Iterator[bytes]):
    """The bytes of an object, or of a range of it, a chunk at a time. Close it, or use it as a context manager.

    Ends with ``StorageUnavailable`` rather than short if the store breaks off; with ``ObjectDamaged`` instead of the
    last chunk if the bytes are not those that were expected.
    """

    def __init__(self, key: str, length: int, read: Callable[[int], bytes], close: Callable[[], None]) -> None:
        self.length = length
        self._key = key
        self._read = read
        self._close = close
        self._hangs = False
        self._left = length
        self._first: bytes | None = None
        self._expected_sha256: str | None = None
        self._digest = hashlib.sha256()

    def begin(self, expected_sha256: str | None) -> None:
        """Read the first chunk ahead, so that an answer which has begun is not broken off at once."""
        self._expected_sha256 = expected_sha256
        self._first = next(self, b"")

    def __next__(self) -> bytes:
        if self._first:
            first, self._first = self._first, None
            return first
        if not self._left:
            self.close()
            raise StopIteration
        try:
            return self._next_chunk()
        except StorageUnavailable as error:
            self._hangs = error.reason is OutageReason.NO_ANSWER
            raise

    def close(self) -> None:
        """Let go of the store. A read that nobody waits for any more ends by itself: a close would wait for it."""
        if not self._hangs:
            self._close()

    def _next_chunk(self) -> bytes:
        chunk = within(conf.storage_timeout, lambda: self._read(min(CHUNK_BYTES, self._left)))
        if not chunk:
            raise StorageUnavailable(f"{self._key} ended {self._left} bytes early.")
        self._left -= len(chunk)
        if self._expected_sha256:
            self._digest.update(chunk)
            if not self._left and self._digest.hexdigest() != self._expected_sha256:
                raise ObjectDamaged(self._key, f"its SHA-256 is {self._digest.hexdigest()}")
        return chunk

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
