"""A PDF to recognise text in: of a PDF a sound copy without a password, of a picture one page for each."""

from pathlib import Path

import img2pdf
from PIL import Image, ImageChops

from documents.processing.events import NotDrawn, Refused
from documents.processing.findings import Reason, Unreadable
from documents.processing.limits import Limits
from documents.processing.media_types import PDF
from documents.processing.pdf_repair import repaired
from documents.processing.picture import count, decode

# A picture with more is made smaller: A4 at 600 dpi has 7,000 on its longer side.
_EDGE = 3_600
_A4_INCHES = (8.27, 11.69)
_PLAUSIBLE_DOTS = range(100, 2_401)  # per inch; what programs write that don't know is 72 or 96
_FEWEST_DOTS = 70.0  # Tesseract takes no less
_QUALITY = 85


def as_pdf(path: str, mime_type: str, limits: Limits, folder: Path) -> Path:
    """Write a document as a PDF into a folder, and return where it is.

    Raises:
        Unreadable, MemoryError
    """
    target = folder / "sheets.pdf"
    if mime_type == PDF:
        copy = repaired(path)
        if isinstance(copy, Refused):
            raise Unreadable(Reason(copy.reason), copy.detail)
        target.write_bytes(copy.getbuffer())
        return target
    pictures, dots = count(path, mime_type)
    pages = [_written(path, mime_type, limits, folder, place, dots) for place in range(min(pictures, limits.pages))]
    with target.open("wb") as file:
        img2pdf.convert([str(page) for page in pages], outputstream=file, engine=img2pdf.Engine.pikepdf)
    return target


def _written(path: str, mime_type: str, limits: Limits, folder: Path, place: int, dots: float) -> Path:
    decoded = decode(path, mime_type, limits, _EDGE, place)
    if isinstance(decoded, NotDrawn):
        raise Unreadable(Reason(decoded.reason), decoded.detail)
    picture = _plain(decoded[0])
    if int(dots) not in _PLAUSIBLE_DOTS:
        sides = zip(sorted(picture.size), _A4_INCHES, strict=True)
        dots = max(_FEWEST_DOTS, *(pixels / inches for pixels, inches in sides))
    target = folder / f"{place}.{'png' if picture.mode == '1' else 'jpg'}"
    picture.save(target, dpi=(round(dots), round(dots)), quality=_QUALITY)
    return target


def _plain(picture: Image.Image) -> Image.Image:
    """Return a picture in black and white, or in grey, if it has no more: so a scan takes little room."""
    red, green, blue = picture.split()
    if ImageChops.difference(red, green).getbbox() or ImageChops.difference(red, blue).getbbox():
        return picture
    shades = red.getcolors(2)
    only_ends = shades and {shade for _, shade in shades} <= {0, 255}
    return red.convert("1", dither=Image.Dither.NONE) if only_ends else red
