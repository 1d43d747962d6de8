"""Taking in a folder of this machine: each file in it as if it had been uploaded."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from django.contrib.auth.models import User

from documents.exceptions import DuplicateRefused, FileTooLarge, UploadRefused
from documents.ingest import Upload, ingest
from documents.intake import max_file_bytes

#: What becomes of a file.
STORED, KNOWN, RESTORED, REFUSED, UNREADABLE = "stored", "known", "restored", "refused", "unreadable"
_OF_THE_SYSTEM = frozenset({"thumbs.db", "desktop.ini"})


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, in the order of their names; hidden ones and links are left out.

    Raises:
        OSError: A folder can't be read.
    """
    for place, folders, names in os.walk(folder, onerror=_raise):
        folders[:] = sorted(name for name in folders if _is_meant(Path(place, name)))
        yield from (path for name in sorted(names) if _is_meant(path := Path(place, name)) and path.is_file())


def take_in(
    folder: Path, user: User, tags: Sequence[str] = (), told: Callable[[str, Path, str], None] = lambda *said: None
) -> Counter[str]:
    """Take in every file below a folder, in the active tenant, and return how many became what.

    The files stay. What is there already makes no second document, so that it can be run again after it broke off.

    Args:
        told: Called for each file with what became of it, its path, and a sentence if it wasn't taken in.

    Raises:
        OSError: A folder can't be read.
        InvalidValue: A tag can't be.
        StorageError: What was taken in stays.
    """
    limit = max_file_bytes()
    done: Counter[str] = Counter()
    for path in files_in(folder):
        try:
            outcome, why = _take_in(path, user, tags, limit), ""
        except DuplicateRefused as error:
            outcome, why = KNOWN, str(error)
        except UploadRefused as error:
            outcome, why = REFUSED, str(error)
        except _Unreadable as error:
            outcome, why = UNREADABLE, str(error)
        done[outcome] += 1
        told(outcome, path, why)
    return done


class _Unreadable(Exception):
    """A file can't be read."""


def _take_in(path: Path, user: User, tags: Sequence[str], limit: int) -> str:
    try:
        file = path.open("rb")
    except OSError as error:
        raise _Unreadable(error.strerror or str(error)) from error
    with file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise FileTooLarge(f"The file is larger than the {limit} bytes allowed.")
        try:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise _Unreadable(error.strerror or str(error)) from error
        taken = ingest(Upload(file, path.name, sha256, size), "", user, tags)
    return RESTORED if taken.restored else KNOWN if taken.duplicate else STORED


def _is_meant(path: Path) -> bool:
    hidden = path.name.startswith((".", "~$")) or path.name.lower() in _OF_THE_SYSTEM
    return not hidden and not path.is_symlink()


def _raise(error: OSError) -> None:
    raise error
