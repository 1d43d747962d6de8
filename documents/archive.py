"""Several originals as one ZIP file, made while it is sent: nothing of it is kept, in memory or on disk."""

from collections.abc import Iterable, Iterator
from io import RawIOBase
from itertools import chain
from typing import Any
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from django.http import StreamingHttpResponse
from django.utils import timezone

from documents.downloads import content_disposition
from documents.exceptions import DocumentNotFound
from documents.models import DocumentVersion
from documents.storage import object_store

#: So many are sent at once; their ids fit into a URL.
MAX_DOCUMENTS = 100


class _Sink(RawIOBase):
    """Takes what is written and gives it away piece by piece. It can't be read or searched, as an answer can't."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def taken(self) -> bytes:
        piece = b"".join(self._pieces)
        self._pieces.clear()
        return piece


def archive_of(ids: Iterable[Any]) -> StreamingHttpResponse:
    """Answer with a ZIP file of the originals of those of these documents that exist, outside the trash.

    An original that can't be read after the answer has begun breaks it off: a ZIP file without its end is none.

    Raises:
        DocumentNotFound: There is none of them.
        ObjectMissing, ObjectDamaged, StorageUnavailable: The first can't be read; nothing was sent.
    """
    chosen = DocumentVersion.objects.filter(document__in=list(ids)[:MAX_DOCUMENTS], is_current=True)
    versions = list(chosen.filter(document__deleted_at=None).order_by("document__title", "pk"))
    if not versions:
        raise DocumentNotFound("There is none of these documents.")
    pieces = _pieces(versions)
    response = StreamingHttpResponse(chain([next(pieces)], pieces), content_type="application/zip")
    response["Content-Disposition"] = content_disposition(f"documents {timezone.localdate()}.zip")
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _pieces(versions: list[DocumentVersion]) -> Iterator[bytes]:
    sink, names = _Sink(), _names(versions)
    with ZipFile(sink, "w", ZIP_STORED) as archive:  # what people keep is compressed already, for the most part
        for version, name in zip(versions, names, strict=True):
            entry = ZipInfo(name, version.created_at.timetuple()[:6])
            opened = object_store().open_whole(
                version.storage_key, size_bytes=version.size_bytes, sha256=version.sha256
            )
            with opened as reader, archive.open(entry, "w", force_zip64=True) as file:
                for chunk in reader:
                    file.write(chunk)
                    yield sink.taken()
    yield sink.taken()


def _names(versions: list[DocumentVersion]) -> list[str]:
    """Return the names of the files, each once, in upper and lower case alike: a (2).pdf."""
    taken: set[str] = set()
    names = []
    for version in versions:
        stem, dot, ending = version.file_name.rpartition(".")
        if not stem:
            stem, dot, ending = version.file_name, "", ""
        name, number = version.file_name, 1
        while name.casefold() in taken:
            number += 1
            name = f"{stem} ({number}){dot}{ending}"
        taken.add(name.casefold())
        names.append(name)
    return names
