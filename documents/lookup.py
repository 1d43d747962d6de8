"""Finding what a URL names."""

from uuid import UUID

from documents.exceptions import DocumentNotFound
from documents.models import Document, DocumentVersion


def current_version(document_id: UUID) -> DocumentVersion:
    """Return the current version, with its document and what is shown of it.

    Raises:
        DocumentNotFound: Also if the document lies in the trash.
    """
    current = DocumentVersion.objects.filter(document=document_id, is_current=True, document__deleted_at=None)
    with_document = current.select_related("document", "document__created_by", "document__correspondent")
    version = with_document.prefetch_related("document__tags").first()
    if version is None:
        raise not_found(document_id)
    return version


def locked(document_id: UUID) -> Document:
    """Return a document that nobody else changes until the caller's transaction ends.

    Raises:
        DocumentNotFound: Also if it lies in the trash.
    """
    document = Document.objects.select_for_update().filter(pk=document_id, deleted_at=None).first()
    if document is None:
        raise not_found(document_id)
    return document


def not_found(document_id: UUID) -> DocumentNotFound:
    """Return the error for a document that isn't there."""
    return DocumentNotFound(f"There is no document {document_id}.")
