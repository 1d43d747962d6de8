"""Full-text search over the pages and titles of the active tenant's documents."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.search import SearchHeadline, SearchQuery, SearchQueryCombinable, SearchRank
from django.db.models import F, FloatField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Left

from documents.models import SEARCH_CONFIGURATIONS, Document, DocumentPage
from documents.processing.cleaning import clean_text

# Of a search. In a URL each may take twelve bytes, and a web server takes lines of about 8,000.
MAX_QUERY_CHARACTERS = 500

# Control characters, which no stored text has: what they enclose is marked after the text itself was escaped.
_START, _STOP = "\x02", "\x03"
_IDLE_MINUS = re.compile(r"-(?![\w\"])")
_HEADLINE_CHARACTERS = 100_000
_TITLE_WEIGHT = 2.0


@dataclass(frozen=True)
class Hit:
    """Where a document matches best. ``page`` None: only its title does. ``snippet`` is safe HTML."""

    page: int | None
    snippet: str


def matching(documents: QuerySet[Document], words: str) -> QuerySet[Document]:
    """Return those documents that match a search, best first, annotated with ``page_id``, the best page.

    Args:
        words: As one types into a search box: quotes for phrases, ``or``, a minus for words that must not stand there.
            German and English words are found by their stems, with or without accents. Never an error.
    """
    query = _query(words)
    pages = DocumentPage.objects.filter(search=query, version__is_current=True)
    found = pages.values("version__document").union(Document.objects.filter(title_search=query).values("pk"))
    best = (
        pages.filter(version__document=OuterRef("pk"))
        .annotate(rank=SearchRank(F("search"), query))
        .order_by("-rank", "number")
    )
    rank = Coalesce(Subquery(best.values("rank")[:1]), 0.0, output_field=FloatField())
    return (
        documents.filter(pk__in=found)
        .annotate(
            page_id=Subquery(best.values("pk")[:1]),
            rank=rank + SearchRank(F("title_search"), query) * Value(_TITLE_WEIGHT),
        )
        .order_by("-rank", "-created_at", "pk")
    )


def hits(documents: Iterable[Document], words: str) -> dict[object, Hit]:
    """Return, by document, the best place of documents that ``matching`` found. One statement for all of them."""
    page_of = {document.pk: document.page_id for document in documents}  # type: ignore[attr-defined]  # annotated
    pages = _with_headlines(DocumentPage.objects.filter(pk__in=[pk for pk in page_of.values() if pk]), _query(words))
    hit_of = {page.pk: Hit(page.number, _snippet(page)) for page in pages}
    return {document: hit_of.get(page, Hit(None, "")) for document, page in page_of.items()}


def highlighted(pages: QuerySet[DocumentPage], words: str, characters: int) -> dict[int, str]:
    """Return, by the page's id, the first ``characters`` of its text as safe HTML, with the hits in ``<mark>``."""
    return {page.pk: _snippet(page) for page in _marked(pages, _query(words), characters, highlight_all=True)}


def _query(words: str) -> SearchQueryCombinable:
    text, _ = clean_text(words)
    # A minus that excludes nothing means nothing, and a row of them is more than PostgreSQL can nest.
    text = _IDLE_MINUS.sub(" ", text)
    german, english = (
        SearchQuery(text, config=configuration, search_type="websearch") for configuration in SEARCH_CONFIGURATIONS
    )
    return german | english


def _with_headlines(pages: QuerySet[DocumentPage], query: SearchQueryCombinable) -> QuerySet[DocumentPage]:
    """Annotate the text around the hits."""
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
