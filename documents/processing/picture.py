"""Decoding picture files of any size, orientation and colour mode, in the memory of the picture itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PIL import ExifTags, Image

from documents.processing.events import NotDrawn
from documents.processing.findings import Reason
from documents.processing.limits import Limits

_BAND_PIXELS = 2**20
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


def decode(path: str, mime_type: str, limits: Limits, edge: int, place: int = 0) -> tuple[Image.Image, str] | NotDrawn:
    """Return one of a file's pictures, the first at place 0, and its size for people, or why it can't be decoded.

    The picture is upright, in RGB, on white where it is transparent, without metadata, and already smaller: its longer
    side has fewer than four times ``edge`` pixels, but not fewer than ``edge`` if the file has as many.

    Raises:
        MemoryError
    """
    kind = _pillows_name(mime_type)
    pixels = 0
    try:
        with _at_most(limits.pixels), Image.open(path, formats=[kind]) as image:
            if place:
                image.seek(place)
                Image._decompression_bomb_check(image.size)  # Pillow does so for the first picture alone
            pixels = image.width * image.height
            detail = f"{image.width} x {image.height} pixels"
            if kind == "TIFF" and image.n_frames > 1:  # type: ignore[attr-defined]  # of those that have several
                detail += f"; the first of {image.n_frames} pictures"  # type: ignore[attr-defined]  # as above
            image.draft(None, (2 * edge, 2 * edge))  # of a JPEG, which is decoded at a fraction of its size
            image.load()
            upright = _UPRIGHT.get(_orientation(image))
            small = _reduced(image, max(1, max(image.size) // (2 * edge)))
    except Image.DecompressionBombError:
        return NotDrawn(Reason.TOO_LARGE, f"it has more than {limits.pixels} pixels")
    except (OSError, SyntaxError, ValueError) as error:
        if pixels * 8 > limits.memory_bytes:  # libjpeg doesn't tell whether it was memory that it lacked
            return NotDrawn(Reason.TOO_LARGE, f"{detail} need more memory than there is")
        return NotDrawn(Reason.DAMAGED, f"it can't be decoded: {_reason(error, path)}")
    return (small.transpose(upright) if upright is not None else small), detail


@contextmanager
def _at_most(pixels: int) -> Iterator[None]:
    """Have Pillow refuse what has more."""
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = pixels // 2  # it warns beyond this, and refuses beyond twice as many
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


def count(path: str, mime_type: str) -> tuple[int, float]:
    """Return how many pictures a file has, of which one looks through all, and their dots per inch; 0: unknown.

    Raises:
        OSError, SyntaxError, ValueError: It is no such file.
    """
    with Image.open(path, formats=[_pillows_name(mime_type)]) as image:
        dots = float(image.info.get("dpi", (0, 0))[0])
        return (image.n_frames if image.format == "TIFF" else 1), dots  # type: ignore[attr-defined]  # a TIFF has it


def _pillows_name(mime_type: str) -> str:
    if mime_type != "image/heic":
        return mime_type.removeprefix("image/").upper()
    import pi_heif  # few pictures need it

    pi_heif.register_heif_opener()
    return "HEIF"


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # noqa: BLE001 - whatever is wrong with the notes about a picture, it can be shown without them
        return 1


def _reduced(image: Image.Image, factor: int) -> Image.Image:
    """Return the picture in RGB and smaller by a whole factor.

    A band at a time: converted as a whole, a large picture would be in memory two or three times.
    """
    on_white = _converter(image)
    small = Image.new("RGB", (-(-image.width // factor), -(-image.height // factor)))
    rows = max(1, _BAND_PIXELS // (image.width * factor)) * factor
    for top in range(0, image.height, rows):
        band = image.crop((0, top, image.width, min(top + rows, image.height)))
        small.paste(on_white(band).reduce(factor), (0, top // factor))
    return small


def _converter(image: Image.Image) -> Callable[[Image.Image], Image.Image]:
    """Return what turns a part of this picture into RGB."""
    if image.mode.startswith("I;16"):
        return lambda part: _grey(part.convert("I"), 0, 0xFFFF)
    if image.mode in ("I", "F"):
        low, high = image.getextrema()  # measurements rather than shades: from the least to the most
        return lambda part: _grey(part, low, high)  # type: ignore[arg-type]  # numbers, since there is one channel
    if image.has_transparency_data:
        return _blended
    return lambda part: part.convert("RGB")


def _grey(part: Image.Image, black: float, white: float) -> Image.Image:
    scale = 255 / (white - black or 1)
    return part.point(lambda value: value * scale - black * scale).convert("L").convert("RGB")


def _blended(part: Image.Image) -> Image.Image:
    white = Image.new("RGBA", part.size, "white")
    return Image.alpha_composite(white, part.convert("RGBA")).convert("RGB")


def _reason(error: Exception, path: str) -> str:
    text = str(error).partition("\n")[0]
    return "its beginning makes no sense" if path in text or not text else text[:200]
