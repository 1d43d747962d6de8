"""Text files in other encodings, and what is a text at all (D09)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.processing.encodings import decode, looks_like_text
from tests.documents.http import Api
from tests.documents.work import work_off

GERMAN = "Die Prüfung der Überschüsse ergab größere Mängel; die Straße bleibt gesperrt.\n"
RUSSIAN = "Это обычный русский текст для проверки кодировки документов.\n" * 3
JAPANESE = "これは日本語の文章です。文書管理システムのための試験です。\n" * 3

DETECTABLE = [
    *((GERMAN, encoding) for encoding in ("utf-8", "utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-32")),
    *((GERMAN, encoding) for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")),
    (RUSSIAN, "koi8-r"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "utf-16"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
]


@pytest.mark.parametrize(("text", "encoding"), DETECTABLE)
def test_common_encodings_are_recognised(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert looks_like_text(data)
    assert decode(data)[0] == text


@pytest.mark.parametrize("text", ["Grüße", "für", "Größe: 5 €", "déjà vu", "Stra\u00dfe 7"])
def test_even_short_western_texts_are_read_right(text: str) -> None:
    assert decode(text.encode("cp1252"))[0] == text


@given(st.binary(max_size=2000))
def test_decoding_never_fails(data: bytes) -> None:
    text, _ = decode(data)
    text.encode("utf-8", "surrogatepass")


def test_the_start_of_a_text_may_end_in_the_middle_of_a_character() -> None:
    assert decode("größer".encode()[:3], is_whole=False)[0] == "gr"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(range(256)) * 4,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x04\0",
        b"PK\x03\x04\x14\0\0\0\x08\0",
        b"\0" * 100,
    ],
)
def test_binary_files_are_no_texts(data: bytes) -> None:
    assert not looks_like_text(data)


def test_a_text_with_a_few_control_characters_is_still_a_text() -> None:
    assert looks_like_text("vorher\0nachher Gr\u00fc\u00dfe\x01".encode())


def test_a_word_with_an_umlaut_is_found_in_every_encoding(api: Api) -> None:
    western = dict.fromkeys(("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"), GERMAN)
    # Bytes of one encoding among those of another, and bytes that are no text at all: what is around them is found.
    damaged = {"mixed": GERMAN.encode() + b"sch\xf6n\n", "invalid": GERMAN.encode() + b"\xff\xfe\x81\n"}
    contents = {name: text.encode(name) for name, text in western.items()} | damaged
    ids = {name: api.upload(content, f"{name}.txt").json()["id"] for name, content in contents.items()}
    assert {job.status for job in work_off()} == {"succeeded"}
    for name, document_id in ids.items():
        assert api.get(f"/{document_id}").json()["status"] == "ready", name
        text = api.get(f"/{document_id}/text").content.decode()
        assert name in damaged or (GERMAN.strip() == text and "\ufffd" not in text), name
    found = {item["id"] for item in api.search("Überschüsse").json()["items"]}
    assert {name for name, document_id in ids.items() if document_id in found} >= set(western)


def test_one_line_of_megabytes_is_read_as_far_as_the_limit(api: Api, settings: Any) -> None:
    settings.DMS_MAX_TEXT_CHARACTERS = 100_000
    document_id = api.upload("größer ".encode() * 500_000, "line.csv").json()["id"]
    [job] = work_off()
    assert (job.status, job.attempts) == ("succeeded", 1)
    steps = {step["name"]: step["reason"] for step in api.get(f"/{document_id}").json()["steps"]}
    assert steps == {"inspect": "", "text": "too_large", "thumbnail": "unsupported", "index": ""}
    assert api.search("größer").json()["count"] == 1


def test_a_binary_file_that_is_called_a_text_is_none(api: Api) -> None:
    body = api.upload(bytes(range(256)) * 40, "notes.txt").json()
    assert body["mime_type"] == "application/octet-stream"
