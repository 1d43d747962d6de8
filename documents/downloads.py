"""Sending an original or its archive version, whole or in part, with headers that keep it from doing anything."""

from dataclasses import dataclass
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response

from documents.archives import archive_of
from documents.exceptions import ArchiveNotFound, ObjectDamaged
from documents.models import DocumentVersion
from documents.objects import OwnedObject
from documents.processing.media_types import PDF
from documents.ranges import ByteRange, RangeNotSatisfiable, parse_range
from documents.storage import object_store

# What a browser may be told; everything else is bytes.
_HARMLESS_TYPES = {"application/pdf", "text/plain", "image/png", "image/jpeg", "image/gif", "image/tiff", "image/webp"}


@dataclass(frozen=True)
class _File:
    stored: OwnedObject
    name: str
    mime_type: str


def download(request: HttpRequest, version: DocumentVersion) -> HttpResponseBase:
    """Answer a GET or HEAD for a version's original: 200, 206, 304, 412 or 416.

    Raises:
        ObjectMissing, ObjectDamaged, StorageUnavailable: Before anything was sent.
    """
    original = OwnedObject(version.storage_key, version.size_bytes, version.sha256)
    return _send(request, _File(original, version.file_name, version.mime_type))


def download_archive(request: HttpRequest, version: DocumentVersion) -> HttpResponseBase:
    """Answer a GET or HEAD for a version's archive version, as ``download`` does for the original.

    Raises:
        ArchiveNotFound: There is none.
        ObjectMissing, ObjectDamaged, StorageUnavailable: Before anything was sent.
    """
    archive = archive_of(version)
    if archive is None:
        raise ArchiveNotFound("No text was recognised in this document, so there is no archive version of it.")
    stem = version.file_name.rpartition(".")[0] or version.file_name
    return _send(request, _File(archive, f"{stem}.searchable.pdf", PDF))


def _send(request: HttpRequest, file: _File) -> HttpResponseBase:
    etag = f'"{file.stored.sha256}"'
    response = get_conditional_response(request, etag=etag) or _whole_or_part(request, file, etag)
    response["ETag"] = etag
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = "private, no-cache"
    response["Content-Disposition"] = content_disposition(file.name)
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def content_disposition(file_name: str) -> str:
    """Return a header that has a file saved under this name: plain ASCII for old clients, RFC 8187 for the others."""
    plain = "".join(char if char.isascii() and (char.isalnum() or char in " ._-()") else "_" for char in file_name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(file_name, safe='')}"


def _whole_or_part(request: HttpRequest, file: _File, etag: str) -> HttpResponseBase:
    size = file.stored.size_bytes
    try:
        asked = parse_range(request.headers.get("Range"), size)
    except RangeNotSatisfiable:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    if request.headers.get("If-Range", etag) != etag:
        asked = None
    response = _body(request, file, asked or ByteRange(0, size - 1))
    if asked:
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {asked.first}-{asked.last}/{size}"
    return response


def _body(request: HttpRequest, file: _File, part: ByteRange) -> HttpResponseBase:
    stored = file.stored
    mime_type = file.mime_type if file.mime_type in _HARMLESS_TYPES else "application/octet-stream"
    headers = {"Content-Length": str(part.length), "Content-Type": mime_type}
    if request.method == "HEAD":
        object_store().size(stored.key)  # no 200 for what a GET would not find
        return HttpResponse(headers=headers)
    if part.length == stored.size_bytes:
        reader = object_store().open_whole(stored.key, size_bytes=stored.size_bytes, sha256=stored.sha256)
    else:
        reader = object_store().open(stored.key, part.first, part.length)
    if reader.length != part.length:
        reader.close()
        raise ObjectDamaged(stored.key, "it is shorter")
    return StreamingHttpResponse(reader, headers=headers)
