"""Drawing thumbnails: small pictures of a PDF's first page, or of a picture.

WebP, lossy: every browser shows it, and a scan takes a fifth of what PNG would take. The same bytes each time for the
same file, as long as the libraries are the same.
"""

from base64 import b64encode
from io import BytesIO

from PIL import Image

from documents.processing.events import Drawn, NotDrawn
from documents.processing.limits import Limits
from documents.processing.picture import decode

#: Of the longer side, in pixels. Smaller pictures stay as they are; a PDF's page has no size in pixels, and fills it.
EDGE = 512
_QUALITY = 80


def draw(path: str, mime_type: str, limits: Limits) -> Drawn | NotDrawn:
    """Return the thumbnail of a document whose type ``can_be_drawn``, or why there is none."""
    if mime_type == "application/pdf":
        from documents.processing.first_page import draw_first_page  # with PDFium, which pictures don't need

        drawn = draw_first_page(path, limits, EDGE)
        return drawn if isinstance(drawn, NotDrawn) else _encoded(drawn)
    decoded = decode(path, mime_type, limits, EDGE)
    return decoded if isinstance(decoded, NotDrawn) else _encoded(*decoded)


def _encoded(picture: Image.Image, detail: str = "") -> Drawn:
    picture.thumbnail((EDGE, EDGE))
    target = BytesIO()
    picture.save(target, "WEBP", quality=_QUALITY)
    return Drawn(b64encode(target.getvalue()).decode(), detail)
