"""Text that has no pages, or whose pages are marked by form feeds: cut, cleaned and reported."""

import re
from collections.abc import Iterable, Iterator

from documents.processing.cleaning import clean_text
from documents.processing.events import Event, Opened, PageRead, Refused, Stopped
from documents.processing.findings import Reason, Unreadable
from documents.processing.limits import Limits

# About two printed pages. Hits need a place, and the index has limits per page.
PAGE_CHARACTERS = 5_000
PAGE_BREAK = "\f"


def report(
    fragments: Iterable[str], limits: Limits, first_page: int = 1, *, detail: str = "", keep_blank: bool = False
) -> Iterator[Event]:
    """Report a text that comes in fragments, as pages from ``first_page`` on.

    An ``Unreadable`` that comes out of the fragments ends the text; if there was none before it, the document is
    refused.

    Args:
        detail: About the document, for people.
        keep_blank: Pages are pages even if nothing stands on them, as the slides of a presentation.
    """
    text, stopped = _gathered(fragments, limits)
    if stopped and not text.strip():
        yield Refused(stopped.reason, stopped.detail)
        return
    pages = list(split(text, keep_blank=keep_blank))
    yield Opened(len(pages), detail)
    for number, page in enumerate(pages[first_page - 1 : limits.pages], start=first_page):
        yield PageRead(number, *clean_text(page))
    if len(pages) > limits.pages:
        stopped = _too_long()
    if stopped:
        yield stopped


def split(text: str, *, keep_blank: bool = False) -> Iterator[str]:
    """Cut a text into pieces of at most ``PAGE_CHARACTERS``, at form feeds, line ends or blanks if there are."""
    for part in text.split(PAGE_BREAK):
        start = 0
        while len(part) - start > PAGE_CHARACTERS:
            end = _last_break(part, start, start + PAGE_CHARACTERS)
            yield part[start:end]
            start = end
        if part[start:].strip() or (keep_blank and not start):
            yield part[start:]


def _gathered(fragments: Iterable[str], limits: Limits) -> tuple[str, Stopped | None]:
    kept: list[str] = []
    room = limits.characters
    try:
        for fragment in fragments:
            kept.append(fragment[:room])
            room -= len(fragment)
            if room < 0:
                return "".join(kept), _too_long()
    except Unreadable as error:
        return "".join(kept), Stopped(error.reason, error.detail)
    return "".join(kept), None


def _too_long() -> Stopped:
    return Stopped(Reason.TOO_LARGE, "the text is longer than is read; its end is not searchable")


def _last_break(text: str, start: int, end: int) -> int:
    half = start + (end - start) // 2
    for pattern in ("\n", " "):
        found = text.rfind(pattern, half, end)
        if found != -1:
            return found + 1
    found_blank = re.search(r"\s", text[half:end])
    return half + found_blank.end() if found_blank else end
