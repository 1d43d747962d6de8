"""Reading PDF. PDFium must not be used from threads: this runs in a process of its own."""

from collections.abc import Iterator

import pypdfium2
from pypdfium2 import raw

from documents.processing.cleaning import clean_text
from documents.processing.events import Event, Opened, PageRead, Refused, Stopped
from documents.processing.findings import Reason
from documents.processing.limits import Limits


def read_pdf(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the pages of a PDF from ``first_page`` on. A page that can't be read is reported and passed over."""
    opened = open_pdf(path)
    if isinstance(opened, Refused):
        yield opened
        return
    pdf, detail = opened
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


def open_pdf(path: str) -> tuple[pypdfium2.PdfDocument, str] | Refused:
    """Return a PDF that has pages, and a remark for people, or why it can't be opened.

    PDFium's answer is what a reader's program would say; what it can't parse, qpdf may repair.
    """
    opened = _open(path)
    if not isinstance(opened, Refused) and not len(opened[0]):
        return Refused(Reason.DAMAGED, "the file has no pages")
    return opened


def _open(path: str) -> tuple[pypdfium2.PdfDocument, str] | Refused:
    try:
        # Not by its path, which pypdfium2 resolves to a name: the file may have none (``/dev/fd/7``).
        return pypdfium2.PdfDocument(open(path, "rb"), autoclose=True), ""
    except pypdfium2.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            return Refused(Reason.LOCKED, "a password is needed to open it")
        if error.err_code == raw.FPDF_ERR_SECURITY:
            return Refused(Reason.LOCKED, "it is encrypted in a way that can't be opened with a password")
    from documents.processing.pdf_repair import repaired  # takes longer to load than most documents to read

    copy = repaired(path)
    if isinstance(copy, Refused):
        return copy
    try:
        return pypdfium2.PdfDocument(copy), "damaged, repaired as far as possible"
    except pypdfium2.PdfiumError:
        return Refused(Reason.DAMAGED, "it can't be opened, repaired or not")


def _read_page(pdf: pypdfium2.PdfDocument, number: int) -> PageRead:
    try:
        page = pdf[number - 1]
    except pypdfium2.PdfiumError:
        return PageRead(number, None)
    try:
        text_page = page.get_textpage()
        try:
            text, dropped = clean_text(text_page.get_text_range())
            return PageRead(number, text, dropped, scanned=not text and _has_picture(page))
        finally:
            text_page.close()
    except pypdfium2.PdfiumError:
        return PageRead(number, None)
    finally:
        page.close()


def _has_picture(page: pypdfium2.PdfPage) -> bool:
    return next(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]), None) is not None
