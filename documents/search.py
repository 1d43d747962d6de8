"""Full-text search over the pages and titles of the active tenant's documents."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchHeadline, SearchQuery, SearchQueryCombinable, SearchRank
from django.db.models import Exists, F, OuterRef, QuerySet, Value
from django.db.models.functions import Left

from documents.models import SEARCH_CONFIGURATIONS, Document, DocumentPage
from documents.search_query import parse

#: So many pages, and so many titles, are compared with each other. Through more of them nobody looks.
RANKED = 1_000

# Control characters, which no stored text has: what they enclose is marked after the text itself was escaped.
_START, _STOP = "\x02", "\x03"
_HEADLINE_CHARACTERS = 100_000
_TITLE_WEIGHT = 2.0


@dataclass(frozen=True)
class Hit:
    """Where a document matches best. ``page`` None: only its title does. ``snippet`` is safe HTML."""

    page: int | None
    snippet: str


@dataclass(frozen=True)
class Found:
    """``pages``: the documents, best first, and the id of the best page of each; None: only its title matches.

    ``more``: so many match that only the newest were compared.
    """

    pages: Mapping[UUID, int | None]
    more: bool = False


@dataclass
class _Best:
    """How well a document matches. Orders the best first, of equals the newest."""

    created_at: datetime
    rank: float = 0.0
    page: int | None = None

    @property
    def place(self) -> tuple[float, float]:
        return -self.rank, -self.created_at.timestamp()


def search(documents: QuerySet[Document], words: str, *, narrowed: bool) -> Found:
    """Return those documents that match a search which asks for some word.

    Args:
        words: As one types into a search box: see ``search_query``. German and English words are found by their stems,
            with or without accents. Never an error.
        narrowed: Whether ``documents`` are fewer than all that lie outside the trash.
    """
    asked = parse(words)
    query = _compiled(asked.wanted)
    newest = _newest_pages(documents.order_by(), query, asked.unwanted, narrowed=narrowed)
    if asked.unwanted:
        documents = documents.exclude(title_search=_compiled(asked.unwanted))
    documents = documents.order_by()
    titles = without_excluded(documents, words).filter(title_search=query).order_by("-created_at")[: RANKED + 1]
    best: dict[UUID, _Best] = {}
    for pk, page, rank, created_at in _ranked(newest[:RANKED], documents, query):
        best.setdefault(pk, _Best(created_at, rank, page))
    ranked_titles = titles.annotate(rank=SearchRank(F("title_search"), query) * Value(_TITLE_WEIGHT))
    count = 0
    for pk, rank, created_at in ranked_titles.values_list("pk", "rank", "created_at"):
        best.setdefault(pk, _Best(created_at)).rank += rank
        count += 1
    in_order = sorted(best, key=lambda pk: (*best[pk].place, pk))
    return Found({pk: best[pk].page for pk in in_order}, more=max(len(newest), count) > RANKED)


def asks_for_something(words: str) -> bool:
    """Say whether any word is asked for, and not only left out."""
    return bool(parse(words).groups)


def excludes_something(words: str) -> bool:
    """Say whether any word is left out."""
    return bool(parse(words).excluded)


def without_excluded(documents: QuerySet[Document], words: str) -> QuerySet[Document]:
    """Leave out the documents of which a page or the title has a word that a search excludes."""
    unwanted = parse(words).unwanted
    if not unwanted:
        return documents
    query = _compiled(unwanted)
    on_pages = DocumentPage.objects.filter(search=query, version__is_current=True, version__document=OuterRef("pk"))
    return documents.filter(~Exists(on_pages)).exclude(title_search=query)


def hits(pages: Mapping[UUID, int | None], words: str) -> dict[UUID, Hit]:
    """Return, by document, the place of its best page. One statement for all of them, none if there are no pages."""
    ids = [page for page in pages.values() if page]
    marked = _with_headlines(DocumentPage.objects.filter(pk__in=ids), words) if ids else []
    hit_of = {page.pk: Hit(page.number, _snippet(page)) for page in marked}
    return {document: hit_of.get(page or 0, Hit(None, "")) for document, page in pages.items()}


def highlighted(pages: QuerySet[DocumentPage], words: str, characters: int) -> dict[int, str]:
    """Return, by the page's id, the first ``characters`` of its text as safe HTML, with the hits in ``<mark>``."""
    if not asks_for_something(words):
        return {}
    query = _compiled(parse(words).wanted)
    return {page.pk: _snippet(page) for page in _marked(pages, query, characters, highlight_all=True)}


def _compiled(text: str) -> SearchQueryCombinable:
    german, english = (
        SearchQuery(text, config=configuration, search_type="raw") for configuration in SEARCH_CONFIGURATIONS
    )
    return german | english


def _newest_pages(
    documents: QuerySet[Document], query: SearchQueryCombinable, unwanted: str, *, narrowed: bool
) -> list[int]:
    """Return the ids of the newest pages that match, at most one more than are ranked.

    To rank a page costs ten times what it costs to find it, so a word that stands everywhere would take seconds.
    """
    pages = DocumentPage.objects.filter(search=query)
    if unwanted:
        pages = pages.exclude(version__in=DocumentPage.objects.filter(search=_compiled(unwanted)).values("version"))
    if narrowed:  # else the trash is left out at the end: to look each page's document up here costs more than that
        pages = pages.filter(version__document__in=documents.values("pk"))
    # Plus nothing: else PostgreSQL may walk the pages by their key, and unpack the words of each to compare them.
    newest = pages.order_by((F("pk") + 0).desc()).values_list("pk", flat=True)
    return list(newest[: RANKED + 1])


def _ranked(
    pages: list[int], documents: QuerySet[Document], query: SearchQueryCombinable
) -> Iterator[tuple[UUID, int, float, datetime]]:
    """Yield document, page, rank and day of upload, the best pages first."""
    chosen = DocumentPage.objects.filter(pk__in=pages, version__is_current=True, version__document__in=documents)
    ranked = chosen.annotate(rank=SearchRank(F("search"), query)).order_by("-rank", "number")
    yield from ranked.values_list("version__document", "pk", "rank", "version__document__created_at")


def _with_headlines(pages: QuerySet[DocumentPage], words: str) -> QuerySet[DocumentPage]:
    """Annotate the text around the hits."""
    query = _compiled(parse(words).wanted)
    return _marked(pages, query, _HEADLINE_CHARACTERS, max_words=35, min_words=15, max_fragments=2)


def _marked(
    pages: QuerySet[DocumentPage], query: SearchQueryCombinable, characters: int, **options: Any
) -> QuerySet[DocumentPage]:
    """Annotate the marked text by each configuration: either sees only the words that it stems as the query does."""
    marks: dict[str, Any] = {"start_sel": _START, "stop_sel": _STOP, "fragment_delimiter": " … "}
    headlines = {
        configuration: SearchHeadline(Left("text", characters), query, config=configuration, **marks, **options)
        for configuration in SEARCH_CONFIGURATIONS
    }
    return pages.annotate(**headlines).defer("text", "search")


def _snippet(page: DocumentPage) -> str:
    headlines: list[str] = [getattr(page, configuration) for configuration in SEARCH_CONFIGURATIONS]
    best = max(headlines, key=lambda headline: headline.count(_START))
    return html.escape(best).replace(_START, "<mark>").replace(_STOP, "</mark>")
