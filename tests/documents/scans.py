"""Scans made for the tests: sheets of paper with words on them, straight, turned or askew."""

from io import BytesIO

import img2pdf
import pikepdf
from PIL import Image, ImageDraw, ImageFont

from tests.documents import files, pictures

WORDS = """Sehr geehrte Damen und Herren, hiermit erfolgt die
Kündigung der Wohnung zum Ende des Monats. Bitte
bestätigen Sie den Eingang dieses Schreibens und
nennen Sie uns einen Termin für die Übergabe der
Schlüssel. Mit freundlichen Grüßen aus München im
Frühling, with kind regards from the old house and
all who have lived there for so many years."""


def sheet(words: str = WORDS, turned: float = 0) -> Image.Image:
    """Return a sheet at 150 dots per inch, turned counterclockwise by so many degrees."""
    paper = Image.new("L", (1240, 800), "white")
    ImageDraw.Draw(paper).text((80, 80), words, "black", font=ImageFont.load_default(40), spacing=30)
    return paper.rotate(turned, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)


def scanned_pdf(*sheets: Image.Image) -> bytes:
    """Return a PDF of pictures, one on each page."""
    return bytes(img2pdf.convert([pictures.encoded(each, dpi=(150, 150)) for each in sheets]))


def with_text_first(scan: bytes, text: str) -> bytes:
    """Return a PDF with this text on its first page, and the scan behind it."""
    whole = pikepdf.open(BytesIO(files.pdf(text)))
    whole.pages.extend(pikepdf.open(BytesIO(scan)).pages)
    target = BytesIO()
    whole.save(target)
    return target.getvalue()


def tiff(*sheets: Image.Image) -> bytes:
    """Return a TIFF of several sheets, as scanners make it."""
    first, *others = sheets
    return pictures.encoded(first, "TIFF", save_all=True, append_images=others, dpi=(150, 150))
