"""The parent's side: starting the child process, listening to it, ending it, and telling why it ended."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, cast

from documents.processing.events import from_line
from documents.processing.findings import Drawing, Findings, Reason
from documents.processing.limits import Limits
from documents.processing.media_types import can_be_drawn

_PROJECT = Path(__file__).resolve().parent.parent.parent
# A page that kills the parser is passed over; a document full of them is not worth more.
_CRASHES = 3
_MARGIN_BYTES = 64 * 1024
_BYTES_PER_CHARACTER = 12  # a character beyond U+FFFF as two JSON escapes
_THUMBNAIL_BYTES = 2**20  # in Base64; one of noise takes a fourth of it


class ChildKilled(Exception):
    """Somebody else killed the child: a shutdown, the kernel short of memory. It says nothing about the document."""


def read(path: str, mime_type: str, limits: Limits, progress: Callable[[Findings], None] | None = None) -> Findings:
    """Read a document in a child process, and return what was found. A bad document is a finding, not an error.

    The same process draws the thumbnail at the end, if it comes as far: what it costs is mostly its start.

    Args:
        path: Of the file; it is only read. May name an open file that has no name any more: ``/dev/fd/7``.
        mime_type: One that ``can_be_read``.
        limits: What it may cost.
        progress: Called after each page; an exception that it raises ends the child and is passed on.

    Raises:
        ChildKilled: The reading was cut short for a reason outside the document.
    """
    with open(path, "rb") as file:
        return _read(file.fileno(), mime_type, limits, progress)


def _read(file: int, mime_type: str, limits: Limits, progress: Callable[[Findings], None] | None) -> Findings:
    findings = Findings()
    for crashes in range(1, _CRASHES + 1):
        child = _Child(file, mime_type, limits, first_page=findings.last_page + 1, draws=can_be_drawn(mime_type))
        with child:
            room = limits.characters * _BYTES_PER_CHARACTER + limits.pages * 100 + _MARGIN_BYTES
            for line in child.lines(room + _THUMBNAIL_BYTES):
                _take_note(findings, line)
                if progress:
                    progress(findings)
        crash = child.why_it_broke_off()
        if crash is None and not findings.has_begun:
            crash = Reason.DAMAGED, "the parser ended without a result"
        if crash is None or findings.is_read:
            break
        if crash[0] is not Reason.DAMAGED or findings.page_count is None or crashes == _CRASHES:
            findings.break_off(*crash)
            break
        findings.pass_over_page()
    return findings


def draw(path: str, mime_type: str, limits: Limits) -> Drawing:
    """Draw a document's thumbnail in a child process that does nothing else.

    Args:
        path: Of the file; it is only read. May name an open file that has no name any more: ``/dev/fd/7``.
        mime_type: One that ``can_be_drawn``.
        limits: What it may cost.

    Raises:
        ChildKilled: The drawing was cut short for a reason outside the document.
    """
    findings = Findings()
    with open(path, "rb") as file:
        child = _Child(file.fileno(), mime_type, limits, draws=True)
        with child:
            for line in child.lines(_THUMBNAIL_BYTES):
                _take_note(findings, line)
    reason, detail = child.why_it_broke_off() or (Reason.DAMAGED, "the parser ended without a result")
    return findings.drawing or Drawing(reason=reason, detail=detail)


def _take_note(findings: Findings, line: bytes) -> None:
    # What is none of our events was printed by a library, or by whatever took over the parser.
    with contextlib.suppress(ValueError, KeyError, TypeError):
        findings.add(from_line(line))


class _Child:
    """One run of the child process, as a context manager that leaves no process behind."""

    def __init__(self, file: int, mime_type: str, limits: Limits, *, first_page: int = 0, draws: bool) -> None:
        """``first_page``: where to begin to read; 0: nothing is read."""
        self._limits = limits
        self._timed_out = False
        request = {
            "path": f"/dev/fd/{file}",  # inherited: the child needs no name, and learns none
            "mime_type": mime_type,
            "limits": asdict(limits),
            "first_page": first_page,
            "draws": draws,
            "parent_pid": os.getpid(),
        }
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, arguments as a list
            [sys.executable, "-P", "-s", "-m", "documents.processing.child", json.dumps(request)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(_PROJECT), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"},
            start_new_session=True,
            pass_fds=[file],
        )
        self._output = cast(IO[bytes], self._process.stdout)
        self._deadline = threading.Timer(limits.seconds, self._time_out)

    def __enter__(self) -> None:
        self._deadline.start()

    def __exit__(self, *exc_info: object) -> None:
        if exc_info[0] is not None:
            self._kill()
        self._output.close()
        # Not reaped yet, so its number can't have passed to another process when its session is killed.
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        self._deadline.cancel()
        self._kill()
        self._process.wait()

    def lines(self, room: int) -> Iterator[bytes]:
        """Yield what the child says, until it ends or has said more than ``room`` bytes."""
        while line := self._output.readline(room):
            room -= len(line)
            if not line.endswith(b"\n"):
                return
            yield line

    def why_it_broke_off(self) -> tuple[Reason, str] | None:
        """Return None if the child came to its end by itself."""
        code = self._process.returncode
        if self._timed_out or code == -signal.SIGXCPU:
            return Reason.TIMEOUT, f"reading it took longer than {self._limits.seconds} s and was ended"
        if code == 0:
            return None
        if code == -signal.SIGKILL:
            raise ChildKilled("The process that read the document was killed from outside.")
        return Reason.DAMAGED, f"the parser crashed ({_name_of(code)})"

    def _time_out(self) -> None:
        self._timed_out = True
        self._kill()

    def _kill(self) -> None:
        # The whole group: whatever it may have started goes with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _name_of(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
