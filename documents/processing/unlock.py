"""Taking the password off a PDF, once somebody has told it: a copy without one, beside the original."""

import contextlib
from typing import BinaryIO

from documents.processing.child_process import ChildProcess
from documents.processing.events import Event, Refused, Unlocked, from_line
from documents.processing.findings import Reason, Unreadable
from documents.processing.limits import Limits
from documents.processing.media_types import PDF

_OUTPUT_BYTES = 2**16


def unlock(path: str, target: BinaryIO, password: str, limits: Limits) -> None:
    """Write a copy of a PDF that needs no password, in a child process that hears the password and keeps nothing.

    Args:
        path: Of the file; it is only read. May name an open file that has no name any more: ``/dev/fd/7``.
        target: An open file of the system, empty.

    Raises:
        Unreadable: ``LOCKED``: the password doesn't open it; else it can't be opened with any.
        ChildKilled: The work was cut short for a reason outside the document.
    """
    last: Event | None = None
    with open(path, "rb") as file:
        child = ChildProcess("unlock_child", file.fileno(), PDF, limits, {}, secret=password, output=target.fileno())
        with child:
            for line in child.lines(_OUTPUT_BYTES):
                with contextlib.suppress(ValueError, KeyError, TypeError):  # printed by a library
                    last = from_line(line)
    crash = child.why_it_broke_off()
    if isinstance(last, Refused):
        raise Unreadable(Reason(last.reason), last.detail)
    if crash or not isinstance(last, Unlocked):
        raise Unreadable(*(crash or (Reason.DAMAGED, "it ended without a result")))
    target.seek(0)
