"""Documents for tests that look at pages without a browser."""

from hashlib import sha256
from typing import Any
from uuid import uuid4

from django.contrib.postgres.search import SearchVector
from django.utils import timezone

from documents.models import SEARCH_CONFIGURATIONS, Document, DocumentPage, DocumentVersion
from documents.states import DocumentStatus


def document(title: str = "Lease", text: str = "Rooms to let.", *, trashed: bool = False, **fields: Any) -> Document:
    """Make a document that was read, of one page, whose original is nowhere."""
    fields = {"status": DocumentStatus.READY, "deleted_at": timezone.now() if trashed else None} | fields
    made = Document.objects.create(title=title, **fields)
    version = DocumentVersion.objects.create(
        document=made,
        number=1,
        sha256=sha256(uuid4().bytes).hexdigest(),
        size_bytes=100,
        mime_type="application/pdf",
        file_name=title,
        storage_key=str(uuid4()),
        page_count=1,
    )
    DocumentPage.objects.create(version=version, number=1, text=text)
    german, english = (SearchVector("text", config=configuration) for configuration in SEARCH_CONFIGURATIONS)
    version.pages.update(search=german + english)
    return made
