"""What a file is called: its name made safe to show, with the ending that fits its content."""

from documents.models import FILE_NAME_MAX_LENGTH
from documents.processing.cleaning import clean_line
from documents.processing.media_types import DOCX, HTML, MAIL, ODP, ODS, ODT, PDF, PPTX, TEXT, XLS, XLSB, XLSX

FALLBACK_NAME = "document"

#: The endings that fit a type, the usual one first.
_ENDINGS = {
    PDF: ("pdf",),
    DOCX: ("docx", "docm", "dotx", "dotm"),
    XLSX: ("xlsx", "xlsm", "xltx", "xltm"),
    PPTX: ("pptx", "pptm", "ppsx", "ppsm", "potx", "potm"),
    XLSB: ("xlsb",),
    XLS: ("xls", "xlt"),
    "application/msword": ("doc", "dot"),
    "application/vnd.ms-powerpoint": ("ppt", "pps", "pot"),
    "application/rtf": ("rtf", "doc"),
    ODT: ("odt",),
    ODS: ("ods",),
    ODP: ("odp",),
    "image/png": ("png",),
    "image/jpeg": ("jpg", "jpeg", "jpe", "jfif"),
    "image/tiff": ("tif", "tiff"),
    "image/webp": ("webp",),
    "image/gif": ("gif",),
    "image/heic": ("heic", "heif"),
    "image/avif": ("avif",),
}
#: Text may be called whatever its author likes, but not like something that isn't text.
_TEXT_ENDINGS = {TEXT: "txt", HTML: "html", MAIL: "eml", "text/xml": "xml", "text/csv": "csv", "text/markdown": "md"}
_NOT_TEXT = frozenset(ending for endings in _ENDINGS.values() for ending in endings)
_KNOWN = _NOT_TEXT | frozenset((*_TEXT_ENDINGS.values(), "htm", "zip"))
_LONGEST = 5


def display_name(file_name: str) -> str:
    """Return the last part of a file's name, fit to be shown: one line, nothing invisible, never empty."""
    last = file_name.replace("\\", "/").rstrip("/ ").rpartition("/")[2]
    name = clean_line(last, FILE_NAME_MAX_LENGTH)
    return name if name.strip(". ") else FALLBACK_NAME


def fitting_name(file_name: str, mime_type: str) -> str:
    """Return the name to show, with an ending that belongs to another type replaced, and a missing one added.

    An ending that nobody here knows stays: a drawing may well be a PDF inside.
    """
    name = display_name(file_name)
    fitting = _ENDINGS.get(mime_type) or ((_TEXT_ENDINGS[mime_type],) if mime_type in _TEXT_ENDINGS else ())
    if not fitting:
        return name
    stem, ending = split(name)
    wrong = ending in (_KNOWN if mime_type in _ENDINGS else _NOT_TEXT) and ending not in fitting
    if not wrong and (ending or mime_type not in _ENDINGS):
        return name
    return f"{stem[: FILE_NAME_MAX_LENGTH - 1 - _LONGEST]}.{fitting[0]}"


def split(name: str) -> tuple[str, str]:
    """Return a name without its ending, and that in lower case; empty if it has none."""
    stem, dot, ending = name.rpartition(".")
    if dot and stem and ending.isascii() and ending.isalnum() and len(ending) <= _LONGEST:
        return stem, ending.lower()
    return name, ""
