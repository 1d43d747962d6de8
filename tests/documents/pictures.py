"""Pictures made for the tests: of every orientation, colour mode and format, damaged ones, and bombs."""

import struct
import zlib
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pikepdf
from PIL import Image

from tests.documents import files

#: What a picture made by ``quarters`` shows once it is upright.
CORNERS = {"top left": "red", "top right": "lime", "bottom left": "blue", "bottom right": "yellow"}
RGB = {"red": (255, 0, 0), "lime": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "white": (255, 255, 255)}

_LAID_DOWN = {
    1: None,
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def quarters(width: int = 640, height: int = 400) -> Image.Image:
    """Return a picture with another colour in each corner, so that it can be told how it lies."""
    small = Image.new("RGB", (2, 2))
    for place, colour in zip(((0, 0), (1, 0), (0, 1), (1, 1)), CORNERS.values(), strict=True):
        small.putpixel(place, RGB[colour])
    return small.resize((width, height), Image.Resampling.NEAREST)


def encoded(picture: Image.Image, kind: str = "PNG", **save: Any) -> bytes:
    target = BytesIO()
    picture.save(target, kind, **save)
    return target.getvalue()


def lying(orientation: int, kind: str = "JPEG") -> bytes:
    """Return ``quarters`` as a camera stores it: turned or mirrored, with the EXIF note that says how."""
    method = _LAID_DOWN[orientation]
    picture = quarters() if method is None else quarters().transpose(method)
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encoded(picture, kind, exif=exif)


def several(kind: str, **save: Any) -> bytes:
    """Return a file of several pictures, the first of which is ``quarters``."""
    others = [Image.new("RGB", (640, 400), (n, n, n)) for n in (10, 20, 30)]
    return encoded(quarters(), kind, save_all=True, append_images=others, **save)


def deep_rgb_png() -> bytes:
    """Return ``quarters`` with 16 bits a channel, which Pillow reads but doesn't write."""
    rows = b""
    picture = quarters(64, 40)
    for y in range(40):
        rows += b"\0" + b"".join(struct.pack(">3H", *(c * 257 for c in picture.getpixel((x, y)))) for x in range(64))
    return _png(64, 40, depth=16, colour_type=2, packed=zlib.compress(rows))


def bomb_png(edge: int = 50_000) -> bytes:
    """Return a black picture of ``edge`` squared pixels, in some hundred kilobytes: every pixel is one bit."""
    row = bytes(1 + (edge + 7) // 8)
    return _png(edge, edge, depth=1, colour_type=0, packed=_packed(row for _ in range(edge)))


def pdf_with_picture(width: int, height: int, depth: int = 8) -> bytes:
    """Return a PDF with a grey picture of this size on its page, beside the word ``neben``."""

    def add(document: pikepdf.Pdf) -> None:
        row = b"\x80" * (width * depth // 8)
        picture = document.make_stream(_packed(row for _ in range(height)))
        picture.Type, picture.Subtype = pikepdf.Name.XObject, pikepdf.Name.Image
        picture.Width, picture.Height = width, height
        picture.BitsPerComponent, picture.ColorSpace = depth, pikepdf.Name.DeviceGray
        picture.Filter = pikepdf.Name.FlateDecode
        page = document.pages[0]
        page.Resources.XObject = pikepdf.Dictionary(P=picture)
        page.contents_add(b"q 400 0 0 400 100 100 cm /P Do Q")

    return files.pdf("neben", change=add, compress_streams=False)


def _png(width: int, height: int, *, depth: int, colour_type: int, packed: bytes) -> bytes:
    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">2I5B", width, height, depth, colour_type, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


def _packed(rows: Iterator[bytes]) -> bytes:
    compress = zlib.compressobj(1)
    return b"".join(compress.compress(row) for row in rows) + compress.flush()
