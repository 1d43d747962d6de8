"""Drawing the first page of a PDF. PDFium must not be used from threads: this runs in a process of its own."""

import pypdfium2
from PIL import Image
from pypdfium2 import raw

from documents.processing.events import NotDrawn, Refused
from documents.processing.findings import Reason
from documents.processing.limits import Limits
from documents.processing.pdf import open_pdf


def draw_first_page(path: str, limits: Limits, edge: int) -> Image.Image | NotDrawn:
    """Return the page as a picture whose longer side has ``edge`` pixels, or why it can't be drawn."""
    opened = open_pdf(path)
    if isinstance(opened, Refused):
        return NotDrawn(opened.reason, opened.detail)
    try:
        page = opened[0][0]
        for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
            width, height = picture.get_px_size()
            if width * height > limits.pixels:
                return NotDrawn(Reason.TOO_LARGE, f"a picture on its first page has more than {limits.pixels} pixels")
        drawn: Image.Image = page.render(scale=(edge - 0.5) / max(page.get_size())).to_pil()  # its size is rounded up
    except pypdfium2.PdfiumError:
        return NotDrawn(Reason.DAMAGED, "its first page can't be drawn")
    return drawn
