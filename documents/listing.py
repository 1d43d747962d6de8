"""Pages of documents, as lists and as results of a search."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from documents import search
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
    """One page of a list. ``count``: how many documents there are on all pages."""

    items: list[Listed]
    count: int


ALL = Filters()


def find(*, words: str = "", filters: Filters = ALL, page: int = 1, trashed: bool = False) -> Listing:
    """Return one page, counted from 1, of the documents outside the trash or, ``trashed``, of those in it.

    Args:
        words: A search, whose best hits come first; blank: all documents, the newest (or last trashed) first.
    """
    documents = Document.objects.filter(deleted_at__isnull=not trashed)
    documents = filters.apply(documents.order_by("-deleted_at" if trashed else "-created_at", "pk"))
    words = words.strip()
    if words:
        documents = search.matching(documents, words)
    start = (page - 1) * PAGE_SIZE
    shown = list(_with_labels(documents[start : start + PAGE_SIZE]))
    hits = search.hits(shown, words) if words else {}
    return Listing([Listed(*both, hits.get(both[0].pk)) for both in _with_versions(shown)], documents.count())


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
    return {"items": items, "count": listing.count}


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
