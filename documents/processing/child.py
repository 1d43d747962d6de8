"""The child process: ``python -m documents.processing.child REQUEST``, events on standard output.

A fresh interpreter that knows nothing: no settings, no database, no credentials, no network.
"""

import json
import sys
from collections.abc import Iterator
from importlib import import_module

from documents.processing.confinement import confine
from documents.processing.events import Event, NotDrawn, Refused, Stopped, to_line
from documents.processing.limits import Limits
from documents.processing.media_types import READERS

_ANY_TEXT = ("plain_text", "read_plain_text")


def main(argument: str) -> None:
    request = json.loads(argument)
    limits = Limits(**request["limits"])
    confine(limits, request["parent_pid"])
    path, mime_type = request["path"], request["mime_type"]
    if request["first_page"] and not _read(path, mime_type, limits, request["first_page"]):
        return
    if request["draws"]:
        _draw(path, mime_type, limits)


def _read(path: str, mime_type: str, limits: Limits, first_page: int) -> bool:
    """Report the text, and return whether the document could be opened."""
    event: Event | None = None
    try:
        for event in _pages(path, mime_type, limits, first_page):
            _report(event)
    except MemoryError:
        event = (Stopped if event else Refused)("too_large", _memory_is_short(limits))
        _report(event)
    return not isinstance(event, Refused)


def _pages(path: str, mime_type: str, limits: Limits, first_page: int) -> Iterator[Event]:
    module, function = READERS.get(mime_type, _ANY_TEXT)
    reader = getattr(import_module(f"documents.processing.{module}"), function)  # loaded here, under the limits
    pages: Iterator[Event] = reader(path, limits, first_page)
    return pages


def _draw(path: str, mime_type: str, limits: Limits) -> None:
    try:
        from documents.processing.thumbnail import draw

        _report(draw(path, mime_type, limits))
    except MemoryError:
        _report(NotDrawn("too_large", _memory_is_short(limits)))


def _memory_is_short(limits: Limits) -> str:
    return f"reading it takes more than {limits.memory_bytes // 2**20} MiB of memory"


def _report(event: Event) -> None:
    print(to_line(event), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
