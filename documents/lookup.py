"""Finding what a URL names."""

from uuid import UUID

from documents.exceptions import DocumentNotFound
from documents.models import DocumentVersion


def current_version(document_id: UUID) -> DocumentVersion:
    """Return the current version, with its document.

    Raises:
        DocumentNotFound: Also if the document lies in the trash.
    """
    current = DocumentVersion.objects.filter(document=document_id, is_current=True, document__deleted_at=None)
    version = current.select_related("document", "document__created_by").first()
    if version is None:
        raise DocumentNotFound(f"There is no document {document_id}.")
    return version
