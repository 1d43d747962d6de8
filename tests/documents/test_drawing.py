"""Drawing thumbnails: every kind of picture, pages of PDF, damaged ones, and bombs (D04, D05, D07)."""

import resource
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from PIL import Image

from documents.processing.events import Drawn, NotDrawn
from documents.processing.examination import Examination, examine
from documents.processing.limits import Limits
from documents.processing.media_types import sniff
from documents.processing.runner import draw as draw_in_a_child
from documents.processing.thumbnail import draw
from tests.documents import files, pictures
from tests.documents.test_confinement import instead_of_the_child, readers_of
from tests.stopwatch import Stopwatch

__all__ = ["instead_of_the_child"]  # a fixture
pytestmark = pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")

LIMITS = Limits(seconds=30)
PDF = "application/pdf"


@pytest.fixture
def drawn(tmp_path: Path) -> Any:
    """Draw a file's thumbnail in this process, as the child does; the type is told from the content."""

    def drawing(content: bytes, limits: Limits = LIMITS) -> Image.Image:
        event = draw(str(stored(tmp_path, content)), sniff(BytesIO(content)), limits)
        assert isinstance(event, Drawn), event
        thumbnail = Image.open(BytesIO(b64decode(event.image)))
        assert (thumbnail.format, thumbnail.mode) == ("WEBP", "RGB")
        return thumbnail

    return drawing


def stored(folder: Path, content: bytes) -> Path:
    path = folder / "file"
    path.write_bytes(content)
    return path


def in_a_child(folder: Path, content: bytes, limits: Limits = LIMITS) -> tuple[str, str]:
    """Draw a file that can't be drawn, and return reason and detail."""
    drawing = draw_in_a_child(str(stored(folder, content)), sniff(BytesIO(content)), limits)
    assert not drawing.image
    return str(drawing.reason), drawing.detail


def examined(folder: Path, content: bytes, limits: Limits = LIMITS) -> Examination:
    return examine(str(stored(folder, content)), sniff(BytesIO(content)), limits, lambda findings: None)


def ended(examination: Examination) -> dict[str, tuple[str, str]]:
    return {step.name: (step.status.value, str(step.reason)) for step in examination.steps}


def corners(picture: Image.Image) -> dict[str, str]:
    """Name the colour in each corner, or what is there if it is none of ours."""
    width, height = picture.size
    places = {"top left": (0.2, 0.2), "top right": (0.8, 0.2), "bottom left": (0.2, 0.8), "bottom right": (0.8, 0.8)}
    return {corner: colour_at(picture, int(x * width), int(y * height)) for corner, (x, y) in places.items()}


def colour_at(picture: Image.Image, x: int, y: int) -> str:
    pixel = picture.convert("RGB").getpixel((x, y))
    close = [
        name for name, rgb in pictures.RGB.items() if all(abs(a - b) < 48 for a, b in zip(pixel, rgb, strict=True))
    ]
    return close[0] if close else str(pixel)


# Which way is up


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_is_drawn_upright(drawn: Any, orientation: int, kind: str) -> None:
    thumbnail = drawn(pictures.lying(orientation, kind))
    assert thumbnail.size == (512, 320)
    assert corners(thumbnail) == pictures.CORNERS


def test_a_turned_page_is_drawn_as_it_is_read(drawn: Any) -> None:
    def turn(document: pikepdf.Pdf) -> None:
        document.pages[0].Rotate = 90

    assert drawn(files.pdf("quer", change=turn)).size == (512, 362)


@pytest.mark.parametrize("note", [b"Exif\0\0MM\0*", b"Exif\0\0" + b"\xff" * 60, b"no exif at all"])
def test_damaged_notes_about_a_picture_cost_nothing(drawn: Any, note: bytes) -> None:
    assert corners(drawn(pictures.encoded(pictures.quarters(), "JPEG", exif=note))) == pictures.CORNERS


# Colours


COLOURED = {
    "RGB": lambda: pictures.encoded(pictures.quarters()),
    "RGB, 16 bits": pictures.deep_rgb_png,
    "palette": lambda: pictures.encoded(pictures.quarters().quantize(8)),
    "CMYK": lambda: pictures.encoded(pictures.quarters().convert("CMYK"), "JPEG"),
    "CMYK, uncompressed": lambda: pictures.encoded(pictures.quarters().convert("CMYK"), "TIFF"),
    "YCbCr": lambda: pictures.encoded(pictures.quarters().convert("YCbCr"), "TIFF"),
    "with alpha": lambda: pictures.encoded(pictures.quarters().convert("RGBA")),
    "progressive": lambda: pictures.encoded(pictures.quarters(), "JPEG", progressive=True),
    "fax-coded scan": lambda: pictures.encoded(pictures.quarters(), "TIFF", compression="tiff_lzw"),
}


@pytest.mark.parametrize("mode", COLOURED)
def test_colours_are_right_in_every_mode(drawn: Any, mode: str) -> None:
    assert corners(drawn(COLOURED[mode]())) == pictures.CORNERS


def ramp(mode: str) -> Image.Image:
    """Return a picture that goes from black at its left to white at its right, in a mode of large numbers."""
    most = {"I;16": 0xFFFF, "I": 0xFFFF, "F": 1.0}[mode]
    picture = Image.new(mode, (256, 16))
    for x in range(256):
        for y in range(16):
            picture.putpixel((x, y), type(most)(most * x / 255))
    return picture


@pytest.mark.parametrize(("mode", "kind"), [("I;16", "PNG"), ("I;16", "TIFF"), ("I", "TIFF"), ("F", "TIFF")])
def test_shades_of_more_than_eight_bits_stay_shades(drawn: Any, mode: str, kind: str) -> None:
    thumbnail = drawn(pictures.encoded(ramp(mode), kind)).convert("L")
    shades = [thumbnail.getpixel((x, 8)) for x in (4, 64, 128, 192, 251)]
    assert shades == pytest.approx([4, 64, 128, 192, 251], abs=8)


def test_a_scan_of_one_bit_becomes_grey_not_jagged(drawn: Any) -> None:
    thumbnail = drawn(files.sample("typewriter.png")).convert("L")
    assert thumbnail.size == (512, 367)
    assert len(thumbnail.getcolors()) > 30


def transparent(mode: str) -> Image.Image:
    """Return red that is see-through but for its middle."""
    picture = Image.new("RGBA", (100, 100), (255, 0, 0, 0))
    picture.paste((255, 0, 0, 255), (30, 30, 70, 70))
    return picture if mode == "RGBA" else picture.convert(mode)


@pytest.mark.parametrize(
    "content",
    [
        pictures.encoded(transparent("RGBA")),
        pictures.encoded(transparent("RGBA"), "WEBP", lossless=True, exact=True),
        pictures.encoded(transparent("RGBA").quantize(8)),
        pictures.encoded(transparent("RGBA"), "GIF"),
        pictures.encoded(transparent("RGBA"), "TIFF"),
    ],
    ids=["PNG", "WebP", "palette", "GIF", "TIFF"],
)
def test_what_is_transparent_is_white(drawn: Any, content: bytes) -> None:
    thumbnail = drawn(content)
    assert colour_at(thumbnail, 10, 10) == "white"
    assert colour_at(thumbnail, 50, 50) == "red"


def test_grey_with_alpha_and_a_transparent_colour_are_white_too(drawn: Any) -> None:
    assert colour_at(drawn(pictures.encoded(Image.new("LA", (60, 60), (0, 0)))), 30, 30) == "white"
    keyed = pictures.encoded(Image.new("RGB", (60, 60), (9, 9, 9)), transparency=(9, 9, 9))
    assert colour_at(drawn(keyed), 30, 30) == "white"


@pytest.mark.parametrize("content", [files.sample("quarters.heic"), pictures.encoded(pictures.quarters(), "AVIF")])
def test_what_phones_take_is_drawn(drawn: Any, content: bytes) -> None:
    assert corners(drawn(content)) == pictures.CORNERS


def test_a_damaged_heic_is_damaged(tmp_path: Path) -> None:
    whole = files.sample("quarters.heic")
    assert in_a_child(tmp_path, whole[: len(whole) // 2])[0] == "damaged"


# Several pictures in a file, and odd sizes


def test_a_scan_of_several_sheets_says_how_many_there_are(tmp_path: Path) -> None:
    assert examined(tmp_path, pictures.several("TIFF")).steps[0].detail.endswith("; the first of 4 pictures")


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_of_several_pictures_the_first_is_drawn(drawn: Any, kind: str) -> None:
    assert corners(drawn(pictures.several(kind, **({"lossless": True} if kind == "WEBP" else {})))) == pictures.CORNERS


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((1, 1), (1, 1)),
        ((1, 30_000), (1, 512)),
        ((30_000, 1), (512, 1)),
        ((512, 512), (512, 512)),
        ((513, 1), (512, 1)),
    ],
)
def test_no_size_is_too_odd_and_nothing_is_enlarged(
    drawn: Any, size: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert drawn(pictures.encoded(Image.new("L", size))).size == expected


@pytest.mark.parametrize(
    ("size", "expected"),
    [((595, 842), (362, 512)), ((10, 10), (512, 512)), ((14_400, 1), (512, 1)), ((3, 9), (171, 512))],
)
def test_a_page_of_any_size_fills_the_thumbnail(drawn: Any, size: tuple[int, int], expected: tuple[int, int]) -> None:
    def resize(document: pikepdf.Pdf) -> None:
        document.pages[0].MediaBox = pikepdf.Array([0, 0, *size])

    assert drawn(files.pdf("x", change=resize)).size == expected


@pytest.mark.parametrize(
    "name", ["crazyones.pdf", "imagemagick-CCITTFaxDecode.pdf", "encryption-r6-owner-password.pdf"]
)
def test_the_first_page_of_real_documents_is_drawn(drawn: Any, name: str) -> None:
    thumbnail = drawn(files.sample(name)).convert("L")
    assert max(thumbnail.size) == 512
    darkest, brightest = thumbnail.getextrema()
    assert (darkest < 100, brightest) == (True, 255)


# What it says and does not say


def test_the_same_file_gives_the_same_bytes(tmp_path: Path) -> None:
    for content in (files.sample("crazyones.pdf"), pictures.lying(6), pictures.encoded(transparent("RGBA"))):
        path, kind = str(stored(tmp_path, content)), sniff(BytesIO(content))
        event = draw(path, kind, LIMITS)
        assert isinstance(event, Drawn)
        assert draw_in_a_child(path, kind, LIMITS).image == b64decode(event.image)


def test_nothing_but_the_pixels_is_taken_over(drawn: Any) -> None:
    exif = Image.Exif()
    exif[0x010E] = "taken at home"
    exif.get_ifd(0x8825)[1] = "N"
    secret = {"exif": exif, "icc_profile": b"secret profile", "xmp": b"<x:xmpmeta>secret</x:xmpmeta>"}
    thumbnail = drawn(pictures.encoded(pictures.quarters(), "JPEG", comment=b"secret", **secret))
    thumbnail.load()
    assert set(thumbnail.info) <= {"loop", "background", "timestamp", "duration"}
    assert not thumbnail.getexif()


# Damage, and types that lie


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "AVIF"])
@pytest.mark.parametrize("share", [20, 50, 90])
def test_half_a_picture_is_damaged(tmp_path: Path, kind: str, share: int) -> None:
    whole = pictures.encoded(Image.effect_noise((300, 200), 80).convert("RGB"), kind)
    path = stored(tmp_path, whole[: len(whole) * share // 100])
    event = draw(str(path), f"image/{kind.lower()}", LIMITS)
    assert isinstance(event, NotDrawn)
    assert event.reason == "damaged"
    assert event.detail.startswith("it can't be decoded: ")
    assert str(tmp_path) not in event.detail


@pytest.mark.parametrize("content", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0" + bytes(20)])
def test_a_picture_that_only_begins_like_one_is_damaged(tmp_path: Path, content: bytes) -> None:
    for kind in ("gif", "png", "jpeg", "tiff", "webp"):
        event = draw(str(stored(tmp_path, content)), f"image/{kind}", LIMITS)
        assert (type(event), event.reason) == (NotDrawn, "damaged")  # type: ignore[union-attr]  # is none


def test_a_picture_is_decoded_as_what_it_was_taken_for_and_as_nothing_else(tmp_path: Path) -> None:
    path = stored(tmp_path, pictures.encoded(pictures.quarters(), "GIF"))
    assert isinstance(draw(str(path), "image/png", LIMITS), NotDrawn)


def test_a_tiff_that_leads_round_in_a_circle_shows_its_first_picture(drawn: Any) -> None:
    content = bytearray(pictures.several("TIFF"))
    first = int.from_bytes(content[4:8], "little")
    next_one = first + 2 + 12 * int.from_bytes(content[first : first + 2], "little")
    content[next_one : next_one + 4] = first.to_bytes(4, "little")
    assert corners(drawn(bytes(content))) == pictures.CORNERS


def test_a_first_page_that_is_none_costs_the_thumbnail_alone(tmp_path: Path) -> None:
    def break_first(document: pikepdf.Pdf) -> None:
        document.Root.Pages.Kids[0] = document.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.Nonsense))

    examination = examined(tmp_path, files.ten_pages(change=break_first))
    assert ended(examination) == {
        "inspect": ("done", ""),
        "text": ("done", "damaged"),
        "thumbnail": ("failed", "damaged"),
    }
    assert len(examination.findings.pages) == 9


def test_a_damaged_pdf_is_repaired_for_its_thumbnail_too(drawn: Any) -> None:
    whole = files.ten_pages()
    assert drawn(whole.replace(b"startxref", b"startxxxx").replace(b"\nxref", b"\nxxxx")).size == (362, 512)


# Bombs (D05)


def test_a_bomb_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    ample = Limits(seconds=30, memory_bytes=2**36)  # it isn't memory that refuses it
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert in_a_child(tmp_path, pictures.bomb_png(), ample) == ("too_large", "it has more than 600000000 pixels")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 1


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "PDF"])
@pytest.mark.parametrize(("limit", "refused"), [(999_999, True), (1_000_000, False)])
def test_one_limit_holds_for_every_kind_of_picture_and_for_those_in_a_pdf(
    tmp_path: Path, kind: str, limit: int, refused: bool
) -> None:
    square = (
        pictures.pdf_with_picture(1000, 1000) if kind == "PDF" else pictures.encoded(Image.new("L", (1000, 1000)), kind)
    )
    path = stored(tmp_path, square)
    event = draw(str(path), PDF if kind == "PDF" else f"image/{kind.lower()}", Limits(pixels=limit))
    assert isinstance(event, NotDrawn) == refused
    if isinstance(event, NotDrawn):
        assert event.reason == "too_large"
        assert event.detail.endswith(f"more than {limit} pixels")


def test_a_pdf_with_a_bomb_on_its_page_keeps_its_text(tmp_path: Path) -> None:
    examination = examined(tmp_path, pictures.pdf_with_picture(2000, 2000), Limits(seconds=30, pixels=3_000_000))
    assert ended(examination) == {"inspect": ("done", ""), "text": ("done", ""), "thumbnail": ("failed", "too_large")}
    assert [page.text for page in examination.findings.pages] == ["neben"]


def test_a_picture_that_does_not_fit_into_the_memory_is_too_large(tmp_path: Path) -> None:
    flat = pictures.encoded(Image.new("RGB", (8000, 8000)), compress_level=1)
    small = Limits(seconds=30, memory_bytes=256 * 2**20)
    assert in_a_child(tmp_path, flat, small) == ("too_large", "reading it takes more than 256 MiB of memory")


def test_a_progressive_jpeg_that_does_not_fit_into_the_memory_is_not_called_damaged(tmp_path: Path) -> None:
    """Its decoder keeps six bytes for each pixel, and doesn't say what it failed of."""
    content = pictures.encoded(Image.new("RGB", (4000, 4000)), "JPEG", progressive=True, subsampling=0)
    reason, detail = in_a_child(tmp_path, content, Limits(seconds=30, memory_bytes=110 * 2**20))
    assert (reason, detail) == ("too_large", "4000 x 4000 pixels need more memory than there is")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "I;16"])
def test_a_large_picture_takes_little_more_memory_than_its_pixels(tmp_path: Path, mode: str) -> None:
    """25 million pixels of four bytes: the whole of it twice, as resizing it would need, does not fit."""
    honest = pictures.encoded(Image.new(mode, (5000, 5000)), compress_level=1)
    path = stored(tmp_path, honest)
    drawing = draw_in_a_child(str(path), "image/png", Limits(seconds=60, memory_bytes=190 * 2**20))
    assert Image.open(BytesIO(drawing.image)).size == (512, 512), drawing.detail


def test_an_honest_scan_of_a0_at_600_dpi_is_drawn(drawn: Any) -> None:
    assert drawn(pictures.pdf_with_picture(19_866, 28_087, depth=1)).size == (362, 512)


# Hanging and dying (D07)


def test_a_drawing_that_kills_its_process_costs_no_text(tmp_path: Path, instead_of_the_child: Any) -> None:
    instead_of_the_child(
        "if first:\n"
        "    say(Opened(1))\n"
        "    say(PageRead(1, 'eins'))\n"
        "ctypes.string_at(0)\n"
    )  # fmt: skip
    examination = examined(tmp_path, files.pdf("eins"))
    assert ended(examination)["thumbnail"] == ("failed", "damaged")
    assert examination.steps[2].detail == "the parser crashed (SIGSEGV)"
    assert (ended(examination)["text"], examination.findings.pages[0].text) == (("done", ""), "eins")


def test_a_drawing_that_kills_its_process_is_no_page_that_does(tmp_path: Path, instead_of_the_child: Any) -> None:
    """Reading stopped at a limit, so the pages behind it are not why the process died."""
    instead_of_the_child("say(Opened(9))\nsay(Stopped('too_large', 'enough'))\nctypes.string_at(0)\n")
    examination = examined(tmp_path, files.pdf("eins"))
    assert ended(examination)["text"] == ("done", "no_text")
    assert "unreadable" not in examination.steps[1].detail


@pytest.mark.parametrize("hang", ["time.sleep(600)", "while True: pass", "os.fork()\ntime.sleep(600)"])
def test_a_drawing_that_hangs_is_ended_with_all_it_started_and_costs_no_text(
    tmp_path: Path, instead_of_the_child: Any, hang: str
) -> None:
    instead_of_the_child(f"if first:\n    say(Opened(1))\n    say(PageRead(1, 'eins'))\n    sys.exit()\n{hang}")
    with Stopwatch() as watch:
        examination = examined(tmp_path, files.pdf("eins"), Limits(seconds=1))
        assert watch.seconds < 10
    assert ended(examination)["text"] == ("done", "")
    assert ended(examination)["thumbnail"] == ("failed", "timeout")
    assert readers_of(str(tmp_path / "file")) == []


def test_a_document_whose_text_takes_too_long_still_gets_its_thumbnail(
    tmp_path: Path, instead_of_the_child: Any
) -> None:
    instead_of_the_child("if first:\n    say(Opened(9))\n    time.sleep(600)\nsay(Drawn('UklGRg=='))")
    examination = examined(tmp_path, files.pdf("eins"), Limits(seconds=1))
    assert ended(examination)["text"] == ("failed", "timeout")
    assert (ended(examination)["thumbnail"], examination.thumbnail) == (("done", ""), b"RIFF")


@pytest.mark.parametrize(
    "program",
    ["", "say(Drawn('not Base64!'))", "print('no event')", "while True: os.write(1, b'x' * 65536)"],
    ids=["nothing", "no image", "no event", "endless"],
)
def test_a_child_that_answers_nonsense_gives_no_thumbnail(
    tmp_path: Path, instead_of_the_child: Any, program: str
) -> None:
    instead_of_the_child(program)
    assert in_a_child(tmp_path, files.pdf("eins"), Limits(seconds=5))[0] == "damaged"


# Which steps a picture has


def test_a_picture_is_opened_and_drawn_and_has_no_text(tmp_path: Path) -> None:
    examination = examined(tmp_path, pictures.lying(6))
    assert ended(examination) == {"inspect": ("done", ""), "text": ("skipped", "no_text"), "thumbnail": ("done", "")}
    assert examination.steps[0].detail == "400 x 640 pixels"


def test_a_picture_that_can_not_be_decoded_has_nothing(tmp_path: Path) -> None:
    examination = examined(tmp_path, pictures.encoded(pictures.quarters())[:300])
    assert ended(examination) == {
        "inspect": ("failed", "damaged"),
        "text": ("skipped", "damaged"),
        "thumbnail": ("skipped", "damaged"),
    }


def test_of_a_text_no_picture_is_made(tmp_path: Path) -> None:
    assert ended(examined(tmp_path, b"words"))["thumbnail"] == ("skipped", "unsupported")


def test_of_a_locked_pdf_nothing_is_drawn(tmp_path: Path) -> None:
    assert ended(examined(tmp_path, files.sample("libreoffice-writer-password.pdf")))["thumbnail"] == (
        "skipped",
        "locked",
    )
