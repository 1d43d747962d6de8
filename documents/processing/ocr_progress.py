"""A plug-in of OCRmyPDF that reports its progress, page by page, on standard output."""

import sys
from typing import Any

from ocrmypdf import hookimpl

from documents.processing.events import Recognising, to_line


class PageCounter:
    """What OCRmyPDF takes for a progress bar; of its several only that of the recognition counts."""

    def __init__(self, *, total: float | None = None, desc: str | None = None, **kwargs: Any) -> None:
        self._total = int(total or 0) if desc == "OCR" else 0
        self._done = 0.0

    def __enter__(self) -> "PageCounter":
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def update(self, n: float = 1, *, completed: float | None = None) -> None:
        """Take note of progress: of ``n`` more units, or of ``completed`` ones in all."""
        before = int(self._done)
        self._done = self._done + n if completed is None else completed
        if self._total and int(self._done) > before:
            print(to_line(Recognising(int(self._done), self._total)), file=sys.__stdout__, flush=True)


@hookimpl
def get_progressbar_class() -> type[PageCounter]:
    """Have OCRmyPDF use it."""
    return PageCounter
