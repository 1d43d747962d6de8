"""Reading and drawing a document: what the child process is asked to do, and what is made of what it says."""

import contextlib
from collections.abc import Callable

from documents.processing.child_process import ChildProcess
from documents.processing.events import from_line
from documents.processing.findings import Drawing, Findings, Reason
from documents.processing.limits import Limits
from documents.processing.media_types import can_be_drawn

# A page that kills the parser is passed over; a document full of them is not worth more.
_CRASHES = 3
_MARGIN_BYTES = 64 * 1024
_BYTES_PER_CHARACTER = 12  # a character beyond U+FFFF as two JSON escapes
_THUMBNAIL_BYTES = 2**20  # in Base64; one of noise takes a fourth of it


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
        child = _child(file, mime_type, limits, first_page=findings.last_page + 1, draws=can_be_drawn(mime_type))
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
        child = _child(file.fileno(), mime_type, limits, draws=True)
        with child:
            for line in child.lines(_THUMBNAIL_BYTES):
                _take_note(findings, line)
    reason, detail = child.why_it_broke_off() or (Reason.DAMAGED, "the parser ended without a result")
    return findings.drawing or Drawing(reason=reason, detail=detail)


def _child(file: int, mime_type: str, limits: Limits, *, first_page: int = 0, draws: bool) -> ChildProcess:
    """Start the process. ``first_page``: where to begin to read; 0: nothing is read."""
    return ChildProcess("child", file, mime_type, limits, {}, first_page=first_page, draws=draws)


def _take_note(findings: Findings, line: bytes) -> None:
    # What is none of our events was printed by a library, or by whatever took over the parser.
    with contextlib.suppress(ValueError, KeyError, TypeError):
        findings.add(from_line(line))
