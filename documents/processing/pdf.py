"""Reading PDF. PDFium must not be used from threads: this runs in a process of its own."""

from collections.abc import Iterator
from io import BytesIO

import pikepdf
import pypdfium2
from pypdfium2 import raw

from documents.processing.cleaning import clean_text
from documents.processing.events import Event, Opened, PageRead, Refused, Stopped
from documents.processing.findings import Reason
from documents.processing.limits import Limits


def read_pdf(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the pages of a PDF from ``first_page`` on. A page that can't be read is reported and passed over."""
    opened = _open(path)
    if isinstance(opened, Refused):
        yield opened
        return
    pdf, detail = opened
    if not len(pdf):
        yield Refused(Reason.DAMAGED, "the file has no pages")
        return
    yield Opened(len(pdf), detail)
    room = limits.characters
    for number in range(first_page, min(len(pdf), limits.pages) + 1):
        page = _read_page(pdf, number)
        room -= len(page.text or "")
        if room < 0:
            yield Stopped(Reason.TOO_LARGE, f"only the text of the first {number - 1} pages is kept")
            return
        yield page
    if len(pdf) > limits.pages:
        yield Stopped(Reason.TOO_LARGE, f"only the first {limits.pages} of {len(pdf)} pages were read")


def _open(path: str) -> tuple[pypdfium2.PdfDocument, str] | Refused:
    """Open with PDFium, whose answer is what a reader's program would say; what it can't parse, qpdf may repair."""
    try:
        # Not by its path, which pypdfium2 resolves to a name: the file may have none (``/dev/fd/7``).
        return pypdfium2.PdfDocument(open(path, "rb"), autoclose=True), ""
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            return Refused(Reason.LOCKED, "a password is needed to open it")
        if error.err_code == raw.FPDF_ERR_SECURITY:
            return Refused(Reason.LOCKED, "it is encrypted in a way that can't be opened with a password")
    try:
        return pypdfium2.PdfDocument(_repaired(path)), "damaged, repaired as far as possible"
    except pikepdf.PasswordError:
        return Refused(Reason.LOCKED, "a password is needed to open it")
    except pypdfium2.PdfiumError:
        return Refused(Reason.DAMAGED, "it can't be opened, repaired or not")
    except (pikepdf.PdfError, RuntimeError, ValueError) as error:
        return Refused(Reason.DAMAGED, f"it can't be opened: {_one_line(error, path)}")


def _repaired(path: str) -> BytesIO:
    copy = BytesIO()
    with pikepdf.open(path, suppress_warnings=True) as pdf:
        pdf.save(copy)
    copy.seek(0)
    return copy


def _read_page(pdf: pypdfium2.PdfDocument, number: int) -> PageRead:
    try:
        page = pdf[number - 1]
    except pypdfium2.PdfiumError:
        return PageRead(number, None)
    try:
        text_page = page.get_textpage()
        try:
            return PageRead(number, *clean_text(text_page.get_text_range()))
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return PageRead(number, None)
    finally:
        page.close()


def _one_line(error: Exception, path: str) -> str:
    return str(error).replace(f"{path}: ", "").partition("\n")[0][:200]
