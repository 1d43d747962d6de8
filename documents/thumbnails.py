"""Thumbnails: keeping them in the store, and sending them."""

import hashlib
import logging
from io import BytesIO
from secrets import token_hex

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from dms_project.tenancy import current
from documents.exceptions import ObjectDamaged, ObjectMissing
from documents.models import Document, DocumentVersion
from documents.objects import OwnedObject
from documents.processing.findings import Reason
from documents.states import DocumentStatus
from documents.storage import key_of, object_store

logger = logging.getLogger(__name__)


def keep(version: DocumentVersion, image: bytes) -> OwnedObject:
    """Put a thumbnail into the store, for the row to name.

    Each has a key of its own, so nobody who reads the one before gets half of either. That one is left to the
    collector.

    Raises:
        StorageUnavailable
    """
    key = key_of(current(), version.document_id, version.number, f"thumbnail-{token_hex(8)}")
    kept = OwnedObject(key, len(image), hashlib.sha256(image).hexdigest())
    object_store().put(key, BytesIO(image), kept.sha256)
    return kept


def send(request: HttpRequest, version: DocumentVersion) -> HttpResponseBase:
    """Answer a GET or HEAD for a version's thumbnail: 200, 304, 412, or 404 with a code that says why there is none.

    It is kept by the browser alone, and asked for anew each time: who may not see the document any more, sees no
    thumbnail of it.

    Raises:
        StorageUnavailable
    """
    if not version.thumbnail_key:
        return _none(*_why_none(version.document))
    etag = f'"{version.thumbnail_sha256}"'
    try:
        response = get_conditional_response(request, etag=etag) or _image(version)
    except (ObjectMissing, ObjectDamaged) as error:
        logger.error("404 %s %s: %s", request.method, request.path, error)
        return _none("missing", "The thumbnail is not in the storage any more. Reprocess the document.")
    response["ETag"] = etag
    response["Cache-Control"] = "private, no-cache"
    response["Content-Disposition"] = 'inline; filename="thumbnail.webp"'
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _image(version: DocumentVersion) -> HttpResponse:
    size_bytes, sha256 = version.thumbnail_size_bytes, version.thumbnail_sha256
    with object_store().open_whole(version.thumbnail_key, size_bytes=size_bytes, sha256=sha256) as reader:
        return HttpResponse(b"".join(reader), content_type="image/webp")


def _why_none(document: Document) -> tuple[str, str]:
    """Return a code and, for people, a sentence."""
    if document.status == DocumentStatus.PROCESSING:
        return "processing", "The document is being processed; it has no thumbnail yet."
    step = next((step for step in document.steps if step["name"] == "thumbnail"), None)
    if step is None:
        return "not_made", "The document was processed before there were thumbnails. Reprocess it."
    reason: str = step["reason"]
    if reason == Reason.UNSUPPORTED:
        return reason, "No thumbnail is made of files of this type."
    # A step that was left out for the reason of another has no words of its own.
    details = [each["detail"] for each in (step, *document.steps) if each["reason"] == reason and each["detail"]]
    return reason, f"The document has no thumbnail ({reason}): {next(iter(details), 'reprocess it to learn more')}."


def _none(code: str, detail: str) -> JsonResponse:
    return JsonResponse({"detail": detail, "code": code}, status=404)
