"""Recognising the text in scans and pictures: a PDF with that text in it, beside the original."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from documents.processing.child_process import ChildProcess
from documents.processing.events import Event, Recognised, Recognising, Refused, from_line
from documents.processing.findings import Findings, Reason, Step, StepStatus, Unreadable
from documents.processing.limits import Limits
from documents.processing.media_types import PDF
from documents.processing.runner import read
from documents.processing.workplace import workplace

_TOOL = "tesseract"
_OUTPUT_BYTES = 2**20
_INHERITED = ("PATH", "TESSDATA_PREFIX")


@dataclass(frozen=True)
class Archive:
    """The PDF with the recognised text, as long as its folder exists, and what can be read in it."""

    path: Path
    findings: Findings


def tool_is_missing() -> bool:
    """Return whether nothing can be recognised on this machine."""
    return shutil.which(_TOOL) is None


@contextlib.contextmanager
def recognised(
    path: str, mime_type: str, limits: Limits, languages: list[str], progress: Callable[[int, int], None]
) -> Iterator[Archive]:
    """Recognise the text of a document's pages that have none, and have the result in a temporary folder.

    Args:
        path: Of the file; it is only read. May name an open file that has no name any more: ``/dev/fd/7``.
        limits: What it may cost; the seconds are for all pages.
        languages: As Tesseract calls them: ``deu``.
        progress: Called with pages done and in all; an exception that it raises ends the child and is passed on.

    Raises:
        Unreadable: There is no result, because of the document or because a program is missing.
        ChildKilled: The work was cut short for a reason outside the document.
    """
    with workplace() as folder, open(path, "rb") as file:
        environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environment |= {"TMPDIR": str(folder), "OMP_THREAD_LIMIT": "1"}
        child = ChildProcess(
            "ocr_child", file.fileno(), mime_type, limits, environment, folder=str(folder), languages=languages
        )
        last: Event | None = None
        with child:
            for line in child.lines(_OUTPUT_BYTES):
                last = _event_of(line) or last
                if isinstance(last, Recognising):
                    progress(last.done, last.total)
        crash = child.why_it_broke_off()
        if isinstance(last, Refused):
            raise Unreadable(Reason(last.reason), last.detail)
        archive = folder / "archive.pdf"
        if crash or not isinstance(last, Recognised) or not archive.is_file():
            raise Unreadable(*(crash or (Reason.DAMAGED, "the recognition ended without a result")))
        yield Archive(archive, read(str(archive), PDF, limits))


def step_of(error: Unreadable) -> Step:
    """Return the step ``ocr`` of a document whose text could not be recognised."""
    status = StepStatus.SKIPPED if error.reason is Reason.TOOL_MISSING else StepStatus.FAILED
    return Step("ocr", status, error.reason, error.detail)


def _event_of(line: bytes) -> Event | None:
    try:
        return from_line(line)
    except (ValueError, KeyError, TypeError):  # printed by a library
        return None
