"""The text of a document, some pages at a time."""

from dataclasses import dataclass

from django.db.models.functions import Left
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from documents import search
from documents.models import DocumentPage, DocumentVersion

PAGES_AT_A_TIME = 20
SHOWN_CHARACTERS = 40_000  # of a page; a text file is one page, however long


@dataclass(frozen=True)
class TextPage:
    """A page, its text as HTML. ``cut``: there is more of it."""

    number: int
    html: SafeString
    cut: bool


@dataclass(frozen=True)
class Text:
    """Some pages in a row. ``before`` and ``after``: page numbers that lead to their neighbours, if there are any."""

    pages: list[TextPage]
    first: int
    last: int
    before: int | None
    after: int | None


def text_around(version: DocumentVersion, number: int, words: str = "") -> Text:
    """Return the pages among which page ``number`` is, with the hits of a search marked."""
    total = version.page_count or 0
    number = min(max(number, 1), max(total, 1))
    first = (number - 1) // PAGES_AT_A_TIME * PAGES_AT_A_TIME + 1
    last = min(first + PAGES_AT_A_TIME - 1, total)
    pages = DocumentPage.objects.filter(version=version, number__range=(first, last)).order_by("number")
    marked = search.highlighted(pages, words, SHOWN_CHARACTERS) if words.strip() else {}
    starts = pages.annotate(start=Left("text", SHOWN_CHARACTERS + 1)).values_list("pk", "number", "start")
    return Text(
        [_page(page_number, start, marked.get(pk)) for pk, page_number, start in starts],
        first,
        last,
        before=first - PAGES_AT_A_TIME if first > 1 else None,
        after=last + 1 if last < total else None,
    )


def _page(number: int, start: str, marked: str | None) -> TextPage:
    html = mark_safe(marked) if marked is not None else escape(start[:SHOWN_CHARACTERS])  # noqa: S308 - escaped there
    return TextPage(number, html, cut=len(start) > SHOWN_CHARACTERS)
