"""Drawing thumbnails: small pictures of a PDF's first page, or of a picture.

WebP, lossy: every browser shows it, and a scan takes a fifth of what PNG would take. The same bytes each time for the
same file, as long as the libraries are the same.
"""

from base64 import b64encode
from io import BytesIO

import pypdfium2
from PIL import Image
from pypdfium2 import raw

from documents.processing.events import Drawn, NotDrawn, Refused
from documents.processing.findings import Reason
from documents.processing.limits import Limits
from documents.processing.media_types import PDF
from documents.processing.pdf import open_pdf
from documents.processing.picture import decode

#: Of the longer side, in pixels. Smaller pictures stay as they are, except that a PDF's page has no size in pixels.
EDGE = 512
_QUALITY = 80


def draw(path: str, mime_type: str, limits: Limits) -> Drawn | NotDrawn:
    """Return the thumbnail of a document whose type ``can_be_drawn``, or why there is none."""
    drawn = _draw_first_page(path, limits) if mime_type == PDF else decode(path, mime_type, limits, EDGE)
    if isinstance(drawn, NotDrawn):
        return drawn
    picture, detail = drawn
    picture.thumbnail((EDGE, EDGE))
    target = BytesIO()
    picture.save(target, "WEBP", quality=_QUALITY)
    return Drawn(b64encode(target.getvalue()).decode(), detail)


def _draw_first_page(path: str, limits: Limits) -> tuple[Image.Image, str] | NotDrawn:
    opened = open_pdf(path)
    if isinstance(opened, Refused):
        return NotDrawn(opened.reason, opened.detail)
    try:
        page = opened[0][0]
        for picture in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]):
            width, height = picture.get_px_size()
            if width * height > limits.pixels:
                return NotDrawn(Reason.TOO_LARGE, f"a picture on its first page has more than {limits.pixels} pixels")
        # Half a pixel less, since the size is rounded up.
        return page.render(scale=(EDGE - 0.5) / max(page.get_size())).to_pil(), ""
    except pypdfium2.PdfiumError:
        return NotDrawn(Reason.DAMAGED, "its first page can't be drawn")
