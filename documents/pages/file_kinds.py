"""What to call a file's type on a page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FileKind:
    """``badge``: at most four letters; ``tone`` chooses the colour."""

    badge: str
    tone: str


_OTHER = FileKind("FILE", "other")
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"
_KINDS = {
    "application/pdf": FileKind("PDF", "pdf"),
    "application/rtf": FileKind("RTF", "text"),
    "application/msword": FileKind("DOC", "text"),
    f"{_OFFICE}.wordprocessingml.document": FileKind("DOCX", "text"),
    f"{_OFFICE}.spreadsheetml.sheet": FileKind("XLSX", "sheet"),
    f"{_OFFICE}.presentationml.presentation": FileKind("PPTX", "slides"),
    "application/vnd.ms-excel": FileKind("XLS", "sheet"),
    "application/vnd.ms-excel.sheet.binary.macroenabled.12": FileKind("XLSB", "sheet"),
    "application/vnd.ms-powerpoint": FileKind("PPT", "slides"),
    f"{_OPEN}.text": FileKind("ODT", "text"),
    f"{_OPEN}.spreadsheet": FileKind("ODS", "sheet"),
    f"{_OPEN}.presentation": FileKind("ODP", "slides"),
    "application/zip": FileKind("ZIP", "other"),
    "text/html": FileKind("HTML", "text"),
    "text/xml": FileKind("XML", "text"),
    "text/csv": FileKind("CSV", "sheet"),
    "text/markdown": FileKind("MD", "text"),
    "message/rfc822": FileKind("MAIL", "text"),
    "image/heic": FileKind("HEIC", "image"),
    "image/avif": FileKind("AVIF", "image"),
    "image/jpeg": FileKind("JPG", "image"),
    "image/png": FileKind("PNG", "image"),
    "image/gif": FileKind("GIF", "image"),
    "image/tiff": FileKind("TIFF", "image"),
    "image/webp": FileKind("WEBP", "image"),
}


def kind_of(mime_type: str) -> FileKind:
    """Return the kind of a MIME type."""
    if mime_type in _KINDS:
        return _KINDS[mime_type]
    if mime_type.startswith("text/"):
        return FileKind("TXT", "text")
    return FileKind("IMG", "image") if mime_type.startswith("image/") else _OTHER
