"""Reading text files."""

import re
from collections.abc import Iterator

from documents.processing.cleaning import clean_text
from documents.processing.encodings import decode
from documents.processing.events import Event, Opened, PageRead, Stopped
from documents.processing.findings import Reason
from documents.processing.limits import Limits

# About two printed pages. A text has no pages of its own, but hits need a place and the index has limits per page.
PAGE_CHARACTERS = 5_000
_BYTES_PER_CHARACTER = 4


def read_plain_text(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the pages of a text file: cut at its form feeds, and where a piece is longer than a page, at line ends."""
    at_most = limits.characters * _BYTES_PER_CHARACTER
    with open(path, "rb") as file:
        data = file.read(at_most)
        is_whole = not file.read(1)
    text, encoding = decode(data, is_whole=is_whole)
    pages = list(split(text[: limits.characters]))
    yield Opened(len(pages), encoding)
    for number, page in enumerate(pages[first_page - 1 : limits.pages], start=first_page):
        yield PageRead(number, *clean_text(page))
    if len(pages) > limits.pages or len(text) > limits.characters or not is_whole:
        yield Stopped(Reason.TOO_LARGE, "the text is longer than is read; its end is not searchable")


def split(text: str) -> Iterator[str]:
    """Cut a text into pieces of at most ``PAGE_CHARACTERS``, at form feeds, line ends or blanks if there are."""
    for part in text.split("\f"):
        start = 0
        while len(part) - start > PAGE_CHARACTERS:
            end = _last_break(part, start, start + PAGE_CHARACTERS)
            yield part[start:end]
            start = end
        if part[start:].strip():
            yield part[start:]


def _last_break(text: str, start: int, end: int) -> int:
    half = start + (end - start) // 2
    for pattern in ("\n", " "):
        found = text.rfind(pattern, half, end)
        if found != -1:
            return found + 1
    found_blank = re.search(r"\s", text[half:end])
    return half + found_blank.end() if found_blank else end
