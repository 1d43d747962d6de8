"""What a no-op handler does: it appends one record to a file that all workers share.

A write of a few bytes with O_APPEND is not torn by others and costs about a microsecond, so it can be the whole handler
of every contender without becoming what is measured. Standard library only, since the peers' workers import it.
"""

import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

FILE = "BENCH_MARKS"
#: Names the worker whose processes share its marks; without it each process counts as a worker.
WORKER = "BENCH_WORKER"

_RECORD = struct.Struct("<qqq")
_descriptors: list[int] = []


class Mark(NamedTuple):
    """The start of a handler."""

    at_ns: int  # CLOCK_MONOTONIC, which all processes of a machine share
    number: int  # of the job, as its producer counted
    worker: int


def mark(number: int) -> None:
    """Note that the handler of this job has started."""
    if not _descriptors:
        _descriptors.append(os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
    worker = int(os.environ.get(WORKER) or os.getpid())
    os.write(_descriptors[0], _RECORD.pack(time.monotonic_ns(), number, worker))


def read(path: Path) -> list[Mark]:
    """Return the marks so far, earliest first."""
    data = path.read_bytes() if path.exists() else b""
    whole = len(data) // _RECORD.size * _RECORD.size
    return sorted(Mark(*record) for record in _RECORD.iter_unpack(data[:whole]))


def count(path: Path) -> int:
    """Return how many marks there are, without reading them."""
    return path.stat().st_size // _RECORD.size if path.exists() else 0
