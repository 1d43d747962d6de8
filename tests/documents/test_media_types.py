"""Types told from the content."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from documents.processing.media_types import can_be_drawn, can_be_read, sniff
from tests.documents.files import INVALID_PDF, sample, ten_pages
from tests.documents.pictures import encoded

PE = b"MZ" + bytes(58) + (64).to_bytes(4, "little") + b"PE\0\0" + bytes(200)


@pytest.mark.parametrize(
    ("content", "mime_type"),
    [
        (ten_pages(), "application/pdf"),
        (INVALID_PDF, "application/pdf"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + ten_pages(), "application/pdf"),
        (b"plain words", "text/plain"),
        (b"MZ is how this text begins", "text/plain"),
        (b"<!DOCTYPE html><p>page", "text/html"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><a/>", "text/xml"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "text/xml"),
        (b"{\\rtf1 words}", "application/rtf"),
        (PE, "application/vnd.microsoft.portable-executable"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "application/x-executable"),
        (sample("typewriter.png"), "image/png"),
        (b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 ", "image/jp2"),
        (b"II+\0\x08\0\0\0", "image/tiff"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0", "image/heic"),
        (
            sample("par-known-paragraphs.docx"),
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (bytes(range(256)) * 40, "application/octet-stream"),
    ],
)
def test_a_file_is_what_it_holds(content: bytes, mime_type: str) -> None:
    file = BytesIO(content)
    assert sniff(file) == mime_type
    assert file.tell() == 0


def test_an_open_document_is_told_from_a_word_document() -> None:
    import zipfile

    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "<a/>")
    assert sniff(target) == "application/vnd.oasis.opendocument.text"


@given(st.binary(max_size=3000))
def test_any_bytes_have_a_type_that_fits_the_column(content: bytes) -> None:
    assert 0 < len(sniff(BytesIO(content))) <= 100


def test_pdf_and_every_kind_of_text_can_be_read() -> None:
    assert can_be_read("application/pdf")
    assert can_be_read("text/html")
    assert not can_be_read("image/png")


def test_of_pdf_and_pictures_that_can_be_decoded_thumbnails_are_drawn() -> None:
    drawn = {"application/pdf", *(f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "tiff", "heic", "avif"))}
    assert all(map(can_be_drawn, drawn))
    assert not any(map(can_be_drawn, ["text/plain", "image/jp2", "image/svg+xml", "application/octet-stream"]))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "AVIF"])
def test_a_picture_of_any_size_is_known_by_its_content(kind: str) -> None:
    for size in ((1, 1), (700, 500)):
        assert sniff(BytesIO(encoded(Image.new("RGB", size), kind))) == f"image/{kind.lower()}"
