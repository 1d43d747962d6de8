"""Repairing a PDF that can't be parsed, with qpdf."""

from io import BytesIO

import pikepdf

from documents.processing.events import Refused
from documents.processing.findings import Reason


def repaired(path: str) -> BytesIO | Refused:
    """Return a PDF written anew from what can be found in the file, or why that can't be done."""
    copy = BytesIO()
    try:
        with pikepdf.open(path, suppress_warnings=True) as pdf:
            pdf.save(copy)
    except pikepdf.PasswordError:
        return Refused(Reason.LOCKED, "a password is needed to open it")
    except (pikepdf.PdfError, RuntimeError, ValueError) as error:
        return Refused(Reason.DAMAGED, f"it can't be opened: {_one_line(error, path)}")
    copy.seek(0)
    return copy


def _one_line(error: Exception, path: str) -> str:
    return str(error).replace(f"{path}: ", "").partition("\n")[0][:200]
