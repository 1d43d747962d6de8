"""Office files are ZIP archives of XML parts. Opening one, with bounds on what it may expand to.

``zipfile`` never yields more of a part than its header declares, so that what is declared can be added up beforehand:
a header that lies has its part cut off and found to be damaged.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import IO

from documents.processing.findings import Reason, Unreadable
from documents.processing.limits import Limits

_MAX_PARTS = 50_000
_ENCRYPTED = 0x1
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError)


class Package:
    """An office file, open for reading."""

    def __init__(self, path: str, limits: Limits) -> None:
        """Open the file.

        Raises:
            Unreadable: It is no archive, or has too many parts.
        """
        self._room = limits.inflated_bytes
        with container_errors():
            self._archive = zipfile.ZipFile(path)
        if len(self._archive.filelist) > _MAX_PARTS:
            raise Unreadable(Reason.TOO_LARGE, f"it consists of more than {_MAX_PARTS} parts")

    def names(self, pattern: str) -> list[str]:
        """Return the names of the parts that match, such as ``word/header*.xml``, short ones first: 2 before 10."""
        found = {name for name in self._archive.namelist() if fnmatchcase(name, pattern)}
        return sorted(found, key=lambda name: (len(name), name))

    def has(self, name: str) -> bool:
        """Return whether there is such a part."""
        return name in self._archive.NameToInfo

    def charge(self, name: str) -> None:
        """Count what a part expands to.

        Raises:
            Unreadable: Together with the parts before it, that is too much; or it is encrypted.
        """
        part = self._archive.NameToInfo[name]
        if part.flag_bits & _ENCRYPTED:
            raise Unreadable(Reason.LOCKED, "a password is needed to open it")
        self._room -= part.file_size
        if self._room < 0:
            raise Unreadable(Reason.TOO_LARGE, "it expands to more than is read")

    def open(self, name: str) -> IO[bytes]:
        """Open a part, which is there. Read from it under ``container_errors``.

        Raises:
            Unreadable: See ``charge``.
        """
        self.charge(name)
        with container_errors():
            return self._archive.open(name)


@contextmanager
def container_errors() -> Iterator[None]:
    """Turn what ``zipfile`` raises over a broken archive into ``Unreadable``."""
    try:
        yield
    except _BROKEN as error:
        if isinstance(error, RecursionError):
            raise
        raise Unreadable(Reason.DAMAGED, f"its parts can't be unpacked: {str(error)[:200]}") from error
