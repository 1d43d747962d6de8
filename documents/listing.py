"""Pages of documents, as lists and as results of a search."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from documents import search, vocabulary
from documents.filters import Filters
from documents.models import Document, DocumentVersion
from documents.schemas import DocumentOut
from documents.states import DocumentStatus
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

PAGE_SIZE = 50


@dataclass(frozen=True)
class Listed:
    """A document in a list, with its current version and, if something was searched for, where it was found."""

    document: Document
    version: DocumentVersion
    hit: search.Hit | None = None


@dataclass(frozen=True)
class Listing:
    """One page of a list. ``count``: how many documents there are on all pages.

    ``more``: even more match a search, of which only the newest were compared. ``suggestion``: nothing was found, but
    this would find something.
    """

    items: list[Listed]
    count: int
    more: bool = False
    suggestion: str = ""


ALL = Filters()


def find(*, words: str = "", filters: Filters = ALL, page: int = 1, trashed: bool = False) -> Listing:
    """Return one page, counted from 1, of the documents outside the trash or, ``trashed``, of those in it.

    Args:
        words: A search, whose best hits come first; blank: all documents, the newest (or last trashed) first.
    """
    documents = Document.objects.filter(deleted_at__isnull=not trashed)
    documents = filters.apply(documents.order_by("-deleted_at" if trashed else "-created_at", "pk"))
    words = words.strip()
    if search.asks_for_something(words):
        return _search(documents, words, page, narrowed=trashed or filters != ALL)
    if words:  # nothing but exclusions, or nothing that could be found
        documents = search.without_excluded(documents, words) if search.excludes_something(words) else documents.none()
    start = (page - 1) * PAGE_SIZE
    shown = list(_with_labels(documents[start : start + PAGE_SIZE]))
    return Listing([Listed(*both) for both in _with_versions(shown)], documents.count())


def _search(documents: QuerySet[Document], words: str, page: int, *, narrowed: bool) -> Listing:
    found = search.search(documents, words, narrowed=narrowed)
    if not found.pages:
        suggestion = vocabulary.suggest(words)
        helps = suggestion and search.search(documents, suggestion, narrowed=narrowed).pages
        return Listing([], 0, suggestion=suggestion if helps else "")
    start = (page - 1) * PAGE_SIZE
    pages = dict(islice(found.pages.items(), start, start + PAGE_SIZE))
    by_id = _with_labels(Document.objects.all()).in_bulk(pages)
    hits = search.hits(pages, words)
    shown = [by_id[pk] for pk in pages if pk in by_id]
    items = [Listed(*both, hits[both[0].pk]) for both in _with_versions(shown)]
    return Listing(items, len(found.pages), found.more)


def of_ids(ids: Iterable[UUID]) -> list[Listed]:
    """Return those of these documents that exist, outside the trash."""
    documents = Document.objects.filter(pk__in=ids, deleted_at=None)
    return [Listed(*both) for both in _with_versions(list(_with_labels(documents)))]


def list_documents(*, words: str, filters: Filters = ALL, page: int) -> dict[str, Any]:
    """Return what ``find`` finds as the HTTP API gives it."""
    listing = find(words=words, filters=filters, page=page)
    stopped = interrupted(listed.document for listed in listing.items)
    items = []
    for listed in listing.items:
        item = DocumentOut.fields_of(listed.document, listed.version, interrupted=listed.document.pk in stopped)
        items.append(item | {"page": listed.hit.page, "snippet": listed.hit.snippet} if listed.hit else item)
    return {"items": items, "count": listing.count, "more": listing.more, "suggestion": listing.suggestion}


def interrupted(documents: Iterable[Document]) -> set[UUID]:
    """Return those whose processing ended without a word: its job is a dead letter, was cancelled, or is gone."""
    waiting = [document for document in documents if document.status == DocumentStatus.PROCESSING]
    if not waiting:
        return set()
    running = {JobStatus.PENDING, JobStatus.PROCESSING, JobStatus.SUCCEEDED}
    jobs = ProcessingJob.objects.filter(pk__in=[document.job_id for document in waiting], status__in=running)
    alive = set(jobs.values_list("pk", flat=True))
    return {document.pk for document in waiting if document.job_id not in alive}


def why_no_text(document: Document) -> str:
    """Return, for people, why a document has no text."""
    if document.status == DocumentStatus.PROCESSING:
        return "The document is being processed; its text is not there yet."
    steps = [step for step in document.steps if step["reason"]]
    reason = steps[0]["reason"] if steps else "no_text"
    detail = next((step["detail"] for step in steps if step["detail"]), "no page has text")
    return f"The document has no text ({reason}): {detail}."


def _with_labels(documents: QuerySet[Document]) -> QuerySet[Document]:
    return documents.select_related("correspondent").prefetch_related("tags")


def _with_versions(documents: list[Document]) -> list[tuple[Document, DocumentVersion]]:
    current = DocumentVersion.objects.filter(document__in=documents, is_current=True)
    versions = {version.document_id: version for version in current}
    return [(document, versions[document.pk]) for document in documents]
