"""Sending an original: in pieces, or a piece of it, with headers that keep it from doing anything in a browser."""

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from documents.exceptions import ObjectDamaged
from documents.models import DocumentVersion
from documents.ranges import ByteRange, RangeNotSatisfiable, parse_range
from documents.storage import object_store

# What a browser may be told; everything else is bytes.
_HARMLESS_TYPES = {"application/pdf", "text/plain", "image/png", "image/jpeg", "image/gif", "image/tiff", "image/webp"}


def download(request: HttpRequest, version: DocumentVersion) -> HttpResponseBase:
    """Answer a GET or HEAD for a version's original: 200, 206, 304, 412 or 416.

    Raises:
        ObjectMissing, ObjectDamaged, StorageUnavailable: Before anything was sent.
    """
    etag = f'"{version.sha256}"'
    response = get_conditional_response(request, etag=etag) or _whole_or_part(request, version, etag)
    response["ETag"] = etag
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-cache"
    response["Content-Disposition"] = content_disposition(version.file_name)
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def content_disposition(file_name: str) -> str:
    """Return a header that has a file saved under this name: plain ASCII for old clients, RFC 8187 for the others."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in " ._-()") else "_" for char in file_name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"


def _whole_or_part(request: HttpRequest, version: DocumentVersion, etag: str) -> HttpResponseBase:
    size = version.size_bytes
    try:
        asked = parse_range(request.headers.get("Range"), size)
    except RangeNotSatisfiable:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    if request.headers.get("If-Range", etag) != etag:
        asked = None
    response = _body(request, version, asked or ByteRange(0, size - 1))
    if asked:
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {asked.first}-{asked.last}/{size}"
    return response


def _body(request: HttpRequest, version: DocumentVersion, part: ByteRange) -> HttpResponseBase:
    mime_type = version.mime_type if version.mime_type in _HARMLESS_TYPES else "application/octet-stream"
    headers = {"Content-Length": str(part.length), "Content-Type": mime_type}
    if request.method == "HEAD":
        object_store().size(version.storage_key)  # no 200 for what a GET would not find
        return HttpResponse(headers=headers)
    if part.length == version.size_bytes:
        reader = object_store().open_whole(version.storage_key, size_bytes=version.size_bytes, sha256=version.sha256)
    else:
        reader = object_store().open(version.storage_key, part.first, part.length)
    if reader.length != part.length:
        reader.close()
        raise ObjectDamaged(version.storage_key, "it is shorter")
    return StreamingHttpResponse(reader, headers=headers)
