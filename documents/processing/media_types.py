"""What a file is, told from its content. Neither its name nor what the client says counts."""

import os
from typing import IO

import puremagic

from documents.processing import encodings

PDF = "application/pdf"
TEXT = "text/plain"
UNKNOWN = "application/octet-stream"
#: Types of pictures that can be decoded.
PICTURES = frozenset({"image/gif", "image/jpeg", "image/png", "image/tiff", "image/webp"})

_SAMPLE_BYTES = 64 * 1024
# Readers accept a PDF whose header stands a little later: mail gateways and scanners glue their own in front.
_PDF_HEADER_WITHIN = 1024
_SIGNATURES = {
    b"\x7fELF": "application/x-executable",
    b"\xfe\xed\xfa\xce": "application/x-mach-binary",
    b"\xfe\xed\xfa\xcf": "application/x-mach-binary",
    b"\xce\xfa\xed\xfe": "application/x-mach-binary",
    b"\xcf\xfa\xed\xfe": "application/x-mach-binary",
    # What puremagic takes for something else.
    b"\0\0\0\x0cjP  \r\n\x87\n": "image/jp2",
    b"II+\0": "image/tiff",
    b"MM\0+": "image/tiff",
}
_MARKUP = {b"<!doctype html": "text/html", b"<html": "text/html", b"<?xml": "text/xml", b"<svg": "text/xml"}


def can_be_read(mime_type: str) -> bool:
    """Return whether text can be read from files of this type."""
    return mime_type == PDF or mime_type.startswith("text/")


def can_be_drawn(mime_type: str) -> bool:
    """Return whether thumbnails can be made of files of this type."""
    return mime_type == PDF or mime_type in PICTURES


def sniff(file: IO[bytes]) -> str:
    """Return the MIME type of a seekable file by its content; its position is the start afterwards.

    A type says what a file wants to be, not that it is sound: whether a PDF can be opened is found out later.
    """
    file.seek(0)
    sample = file.read(_SAMPLE_BYTES)
    mime_type = _of_sample(sample) or _by_signature(file)
    file.seek(0)
    return mime_type


def _of_sample(sample: bytes) -> str | None:
    if b"%PDF-" in sample[:_PDF_HEADER_WITHIN]:
        return PDF
    for signature, mime_type in _SIGNATURES.items():
        if sample.startswith(signature):
            return mime_type
    if _is_windows_program(sample):
        return "application/vnd.microsoft.portable-executable"
    if sample.startswith(b"{\\rtf"):
        return "application/rtf"
    if sample.startswith(b"PK\x03\x04") and sample[30:38] == b"mimetype":  # OpenDocument and EPUB name themselves
        length = int.from_bytes(sample[18:22], "little")
        return sample[38 : 38 + length].decode("ascii", "replace")[:100] or UNKNOWN
    if not encodings.looks_like_text(sample):
        return None
    start = sample.removeprefix(b"\xef\xbb\xbf").lstrip()[:32].lower()
    return next((mime_type for tag, mime_type in _MARKUP.items() if start.startswith(tag)), TEXT)


def _is_windows_program(sample: bytes) -> bool:
    """Tell a program: ``MZ`` alone begins many a text; a program's header says where its second signature is."""
    offset = int.from_bytes(sample[60:64], "little")
    return sample.startswith(b"MZ") and sample[offset : offset + 4] == b"PE\0\0"


def _by_signature(file: IO[bytes]) -> str:
    file.seek(0, os.SEEK_SET)
    try:
        return str(puremagic.from_stream(file, mime=True)) or UNKNOWN
    except (puremagic.PureError, ValueError, IndexError, KeyError, OSError):
        return UNKNOWN
