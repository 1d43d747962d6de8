"""Pages of documents, as lists and as results of a search."""

from typing import Any

from documents import search
from documents.models import Document, DocumentVersion
from documents.schemas import DocumentOut
from documents.states import DocumentStatus

PAGE_SIZE = 50


def list_documents(*, words: str, status: DocumentStatus | None, page: int) -> dict[str, Any]:
    """Return one page, counted from 1, of the documents that aren't in the trash.

    Args:
        words: A search, whose best hits come first; blank: all documents, the newest first.
    """
    documents = Document.objects.filter(deleted_at=None).order_by("-created_at", "pk")
    if status:
        documents = documents.filter(status=status)
    words = words.strip()
    if words:
        documents = search.matching(documents, words)
    start = (page - 1) * PAGE_SIZE
    shown = list(documents[start : start + PAGE_SIZE])
    hits = search.hits(shown, words) if words else {}
    versions = {
        version.document_id: version for version in DocumentVersion.objects.filter(document__in=shown, is_current=True)
    }
    items = []
    for document in shown:
        item = DocumentOut.fields_of(document, versions[document.pk])
        hit = hits.get(document.pk)
        items.append(item | {"page": hit.page, "snippet": hit.snippet} if hit else item)
    return {"items": items, "count": documents.count()}


def why_no_text(document: Document) -> str:
    """Return, for people, why a document has no text."""
    if document.status == DocumentStatus.PROCESSING:
        return "The document is being processed; its text is not there yet."
    steps = [step for step in document.steps if step["reason"]]
    reason = steps[0]["reason"] if steps else "no_text"
    detail = next((step["detail"] for step in steps if step["detail"]), "no page has text")
    return f"The document has no text ({reason}): {detail}."
