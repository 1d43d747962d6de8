"""What a file is, told from its content. What the client says doesn't count, and its name only where one kind of
plain text looks like another.
"""

import os
import re
from typing import IO

import puremagic

from documents.processing import encodings

PDF = "application/pdf"
TEXT = "text/plain"
HTML = "text/html"
MAIL = "message/rfc822"
XLS = "application/vnd.ms-excel"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
#: Of an office file with a password no more can be told than that it is one.
LOCKED_OFFICE = "application/encrypted"
UNKNOWN = "application/octet-stream"
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
DOCX = f"{_OFFICE}.wordprocessingml.document"
XLSX = f"{_OFFICE}.spreadsheetml.sheet"
PPTX = f"{_OFFICE}.presentationml.presentation"
ODT = f"{_OPEN}.text"
ODS = f"{_OPEN}.spreadsheet"
ODP = f"{_OPEN}.presentation"

#: Which function of which module reads a type; any other kind of text is read as it stands.
READERS = {
    PDF: ("pdf", "read_pdf"),
    DOCX: ("office_xml", "read_docx"),
    PPTX: ("office_xml", "read_pptx"),
    XLSX: ("spreadsheet", "read_workbook"),
    XLSB: ("spreadsheet", "read_workbook"),
    XLS: ("spreadsheet", "read_xls"),
    ODT: ("open_document", "read_odt"),
    ODS: ("open_document", "read_ods"),
    ODP: ("open_document", "read_odp"),
    HTML: ("web_page", "read_html"),
    MAIL: ("mail", "read_mail"),
}
#: Types of pictures that can be decoded.
PICTURES = frozenset(f"image/{kind}" for kind in ("avif", "gif", "heic", "jpeg", "png", "tiff", "webp"))

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
    b"II*\0": "image/tiff",  # a white one without compression looks like text
    b"MM\0*": "image/tiff",
    b"II+\0": "image/tiff",
    b"MM\0+": "image/tiff",
}
_MARKUP = {
    b"<!doctype html": HTML,
    b"<html": HTML,
    b"<head": HTML,
    b"<body": HTML,
    b"<?xml": "text/xml",
    b"<svg": "text/xml",
}
_PACKAGES = {b"word/document": DOCX, b"xl/workbook.bin": XLSB, b"xl/workbook": XLSX, b"ppt/presentation": PPTX}
# Old office files, and new ones with a password, are little file systems.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_FILES = {
    "EncryptedPackage": LOCKED_OFFICE,
    "WordDocument": "application/msword",
    "PowerPoint Document": "application/vnd.ms-powerpoint",
    "Workbook": XLS,
    "Book": XLS,
}
_HEIF_BRANDS = {b"avif": "image/avif", b"avis": "image/avif"} | dict.fromkeys(
    (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), "image/heic"
)
# A mail begins with headers, among which are at least two of these.
_HEADER = re.compile(rb"([!-9;-~]{1,70}):[ \t][^\n]*\n(?:[ \t][^\n]*\n)*")
_HEADERS_OF_MAIL = {b"from", b"to", b"date", b"subject", b"received", b"return-path", b"message-id", b"mime-version"}
_TEXT_BY_NAME = {".csv": "text/csv", ".tsv": "text/csv", ".md": "text/markdown", ".markdown": "text/markdown"}


def can_be_read(mime_type: str) -> bool:
    """Return whether text can be read from files of this type."""
    return mime_type in READERS or mime_type.startswith("text/")


def can_be_drawn(mime_type: str) -> bool:
    """Return whether thumbnails can be made of files of this type."""
    return mime_type == PDF or mime_type in PICTURES


def sniff(file: IO[bytes], name: str = "") -> str:
    """Return the MIME type of a seekable file by its content; its position is the start afterwards.

    A type says what a file wants to be, not that it is sound: whether a PDF can be opened is found out later.

    Args:
        name: Tells CSV and Markdown from other plain text, and nothing else.
    """
    file.seek(0)
    sample = file.read(_SAMPLE_BYTES)
    mime_type = _of_sample(sample) or _of_container(file, sample) or _by_signature(file)
    file.seek(0)
    return _TEXT_BY_NAME.get(os.path.splitext(name)[1].lower(), TEXT) if mime_type == TEXT else mime_type


def _of_sample(sample: bytes) -> str | None:
    if b"%PDF-" in sample[:_PDF_HEADER_WITHIN]:
        return PDF
    for signature, mime_type in _SIGNATURES.items():
        if sample.startswith(signature):
            return mime_type
    if sample[4:8] == b"ftyp" and sample[8:12] in _HEIF_BRANDS:
        return _HEIF_BRANDS[sample[8:12]]
    if _is_windows_program(sample):
        return "application/vnd.microsoft.portable-executable"
    if sample.startswith(b"{\\rtf"):
        return "application/rtf"
    return _of_text(sample) if encodings.looks_like_text(sample) else None


def _of_text(sample: bytes) -> str:
    start = sample.removeprefix(b"\xef\xbb\xbf").lstrip()[:1024].lower()
    if start.startswith(b"<?xml") and b"<html" in start:
        return HTML
    for tag, mime_type in _MARKUP.items():
        if start.startswith(tag):
            return mime_type
    return MAIL if _is_mail(sample) else TEXT


def _is_mail(sample: bytes) -> bool:
    place, names = 0, set()
    sample = sample.replace(b"\r\n", b"\n")
    while header := _HEADER.match(sample, place):
        names.add(header[1].lower())
        place = header.end()
    return len(names & _HEADERS_OF_MAIL) >= 2


def _is_windows_program(sample: bytes) -> bool:
    """Tell a program: ``MZ`` alone begins many a text; a program's header says where its second signature is."""
    offset = int.from_bytes(sample[60:64], "little")
    return sample.startswith(b"MZ") and sample[offset : offset + 4] == b"PE\0\0"


def _of_container(file: IO[bytes], sample: bytes) -> str | None:
    """Tell what an archive or an old office file holds by the names in its directory, or in the beginning of that."""
    if sample.startswith(b"PK\x03\x04"):
        if sample[30:38] == b"mimetype":  # OpenDocument and EPUB name themselves
            length = int.from_bytes(sample[18:22], "little")
            return sample[38 : 38 + length].decode("ascii", "replace")[:100] or UNKNOWN
        names = _zip_directory(file) or sample
        return next((mime_type for name, mime_type in _PACKAGES.items() if name in names), "application/zip")
    if sample.startswith(_OLE):
        sector_bytes = 1 << min(int.from_bytes(sample[30:32], "little"), 12)
        file.seek((int.from_bytes(sample[48:52], "little") + 1) * sector_bytes)
        directory = file.read(_SAMPLE_BYTES)
        found = {directory.find(name.encode("utf-16-le") + b"\0\0"): name for name in _OLE_FILES}
        first = min((place for place in found if place >= 0), default=None)  # what is embedded comes later
        return None if first is None else _OLE_FILES[found[first]]
    return None


def _zip_directory(file: IO[bytes]) -> bytes:
    """Return the beginning of an archive's directory; nothing if there is none, as the end of the file is missing."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _SAMPLE_BYTES))
    tail = file.read(_SAMPLE_BYTES)
    end = tail.rfind(b"PK\x05\x06")
    if end < 0:
        return b""
    file.seek(min(int.from_bytes(tail[end + 16 : end + 20], "little"), size))
    return file.read(_SAMPLE_BYTES)


def _by_signature(file: IO[bytes]) -> str:
    file.seek(0, os.SEEK_SET)
    try:
        return str(puremagic.from_stream(file, mime=True)) or UNKNOWN
    except (puremagic.PureError, ValueError, IndexError, KeyError, OSError):
        return UNKNOWN
