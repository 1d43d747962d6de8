"""Folders in which a child process works. They go when that ends or, if its worker was killed, with the next one."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "dms-work-"
# Older ones are locked by whoever works in them; between making one and locking it lie microseconds.
_YOUNG_SECONDS = 60


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """Have a folder that is removed at the end, after those that killed workers have left in the same place."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name, _opened(name) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)  # the system gives it up when the process dies, however it does
        yield Path(name)


def _remove_abandoned(place: Path) -> None:
    for path in place.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _opened(path) as folder:  # locked, another user's, or gone meanwhile
            found = os.fstat(folder)
            if found.st_uid == os.geteuid() and found.st_mtime < time.time() - _YOUNG_SECONDS:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _opened(path: str | Path) -> Iterator[int]:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)
