"""Reading text files: also CSV and Markdown, which people search as they stand."""

from collections.abc import Iterator

from documents.processing.encodings import decode
from documents.processing.events import Event
from documents.processing.findings import Reason, Unreadable
from documents.processing.flowing_text import report
from documents.processing.limits import Limits

_BYTES_PER_CHARACTER = 4


def read_plain_text(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the pages of a text file: cut at its form feeds, and where a piece is longer than a page, at line ends."""
    text, encoding, is_whole = decoded_file(path, limits)
    yield from report(_fragments(text, is_whole=is_whole), limits, first_page, detail=encoding)


def decoded_file(path: str, limits: Limits) -> tuple[str, str, bool]:
    """Return as much of a text file as is read, its encoding, and whether that is all of it."""
    with open(path, "rb") as file:
        data = file.read(limits.characters * _BYTES_PER_CHARACTER)
        is_whole = not file.read(1)
    return *decode(data, is_whole=is_whole), is_whole


def _fragments(text: str, *, is_whole: bool) -> Iterator[str]:
    yield text
    if not is_whole:
        raise Unreadable(Reason.TOO_LARGE, "the text is longer than is read; its end is not searchable")
