"""All that is done with a document's file: reading its text, drawing its thumbnail."""

from collections.abc import Callable
from dataclasses import dataclass, field

from documents.processing.events import Refused
from documents.processing.findings import Findings, Reason, Step, no_thumbnail, unsupported
from documents.processing.limits import Limits
from documents.processing.media_types import LOCKED_OFFICE, can_be_drawn, can_be_read
from documents.processing.runner import draw, read


@dataclass(frozen=True)
class Examination:
    """What was found, how each step ended, and the thumbnail as WebP; empty: there is none.

    ``has_scans``: there are pictures in which text may be recognised.
    """

    steps: list[Step]
    findings: Findings = field(default_factory=Findings)
    thumbnail: bytes = b""
    has_scans: bool = False


def without_file(mime_type: str) -> Examination | None:
    """Return what is known of a file by its type alone; None if the file has something to tell."""
    if can_be_read(mime_type) or can_be_drawn(mime_type):
        return None
    if mime_type == LOCKED_OFFICE:
        locked = Findings()
        locked.add(Refused(Reason.LOCKED, "a password is needed to open it"))
        return Examination([*locked.steps(), no_thumbnail(Reason.LOCKED)], locked)
    return Examination(unsupported(mime_type))


def examine(path: str, mime_type: str, limits: Limits, progress: Callable[[Findings], None]) -> Examination:
    """Read and draw a document in a child process. A bad document is a finding, not an error.

    Args:
        path: Of the file; it is only read. May name an open file that has no name any more: ``/dev/fd/7``.
        mime_type: One that ``without_file`` knows nothing about.
        limits: What each child process may cost.
        progress: Called after each page; an exception that it raises ends the child and is passed on.

    Raises:
        ChildKilled: The work was cut short for a reason outside the document.
    """
    if not can_be_read(mime_type):
        drawing = draw(path, mime_type, limits)
        return Examination(drawing.steps_of_picture(), thumbnail=drawing.image, has_scans=bool(drawing.image))
    findings = read(path, mime_type, limits, progress)
    if findings.refusal:
        return Examination([*findings.steps(), no_thumbnail(findings.refusal.reason)], findings)
    if not can_be_drawn(mime_type):
        return Examination([*findings.steps(), no_thumbnail(Reason.UNSUPPORTED)], findings)
    # A process that died while it read, or of the drawing, didn't say: one that only draws does.
    drawing = findings.drawing or draw(path, mime_type, limits)
    return Examination([*findings.steps(), drawing.step()], findings, drawing.image, findings.has_scans)
