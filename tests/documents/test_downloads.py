"""Downloads: ranges, conditions, and headers that keep a file from doing anything in a browser."""

import re
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.downloads import content_disposition
from documents.models import DocumentVersion
from documents.names import display_name
from documents.ranges import ByteRange, RangeNotSatisfiable, parse_range
from documents.storage import ObjectStore
from tests.documents import files
from tests.documents.http import Api
from tests.faults.proxy import FaultyConnection

CONTENT = bytes(range(256)) * 40


@pytest.fixture
def path(api: Api) -> str:
    return f"/api/documents/{api.upload(CONTENT, 'Größe.bin').json()['id']}/download"


def body(answer: Any) -> bytes:
    return b"".join(answer) if answer.streaming else answer.content


def test_the_original_comes_back_bit_by_bit(api: Api, path: str) -> None:
    answer = api.client.get(path)
    assert answer.status_code == 200
    assert body(answer) == CONTENT
    assert answer["Content-Length"] == str(len(CONTENT))
    assert answer["ETag"] == f'"{DocumentVersion.objects.get().sha256}"'


def test_nothing_in_a_file_can_act_in_the_browser(api: Api) -> None:
    for name, content in {"a.svg": b"<svg onload='x'/>", "b.html": b"<html><script>", "c.pdf": files.pdf("x")}.items():
        answer = api.get(f"/{api.upload(content, name).json()['id']}/download")
        assert answer["Content-Disposition"].startswith("attachment;")
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]
        assert answer["Content-Type"] == ("application/pdf" if name == "c.pdf" else "application/octet-stream")


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        ("bytes=0-0", 0, 0),
        ("bytes=100-199", 100, 199),
        ("bytes=10000-", 10000, len(CONTENT) - 1),
        ("bytes=-5", len(CONTENT) - 5, len(CONTENT) - 1),
        ("bytes=5-99999999", 5, len(CONTENT) - 1),
        ("bytes=-99999999", 0, len(CONTENT) - 1),
    ],
)
def test_a_range_is_answered_with_its_part(api: Api, path: str, header: str, first: int, last: int) -> None:
    answer = api.client.get(path, headers={"range": header})
    assert answer.status_code == 206
    assert body(answer) == CONTENT[first : last + 1]
    assert answer["Content-Range"] == f"bytes {first}-{last}/{len(CONTENT)}"
    assert answer["Content-Length"] == str(last - first + 1)


@pytest.mark.parametrize("header", [f"bytes={len(CONTENT)}-", "bytes=999999999999999999-", "bytes=-0"])
def test_a_range_behind_the_end_is_not_satisfiable(api: Api, path: str, header: str) -> None:
    answer = api.client.get(path, headers={"range": header})
    assert answer.status_code == 416
    assert answer["Content-Range"] == f"bytes */{len(CONTENT)}"


@pytest.mark.parametrize("header", ["", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,5-6", "lines=1-2", "bytes=a-b"])
def test_a_range_nobody_understands_is_ignored(api: Api, path: str, header: str) -> None:
    answer = api.client.get(path, headers={"range": header})
    assert (answer.status_code, body(answer)) == (200, CONTENT)


def test_a_part_is_only_sent_of_the_file_it_was_asked_of(api: Api, path: str) -> None:
    etag = api.client.get(path)["ETag"]
    same = api.client.get(path, headers={"range": "bytes=0-9", "if-range": etag})
    other = api.client.get(path, headers={"range": "bytes=0-9", "if-range": '"another"'})
    assert (same.status_code, other.status_code) == (206, 200)
    assert body(other) == CONTENT


def test_what_a_client_has_already_is_not_sent_again(api: Api, path: str) -> None:
    etag = api.client.get(path)["ETag"]
    answer = api.client.get(path, headers={"if-none-match": etag})
    assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)


def test_head_tells_the_size_and_sends_nothing(api: Api, path: str) -> None:
    answer = api.client.head(path)
    assert (answer.status_code, answer["Content-Length"], body(answer)) == (200, str(len(CONTENT)), b"")
    part = api.client.head(path, headers={"range": "bytes=0-9"})
    assert (part.status_code, part["Content-Length"]) == (206, "10")


@pytest.mark.parametrize("method", ["get", "head"])
def test_a_missing_original_is_a_clear_answer(
    api: Api, path: str, local_store: ObjectStore, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    local_store.delete(DocumentVersion.objects.get().storage_key)
    answer = getattr(api.client, method)(path)
    assert answer.status_code == 410
    assert "There is no object" in caplog.text


def test_an_original_that_is_too_short_is_not_sent(api: Api, path: str, tmp_path: Any) -> None:
    [file] = (tmp_path / "storage").rglob("original")
    file.write_bytes(CONTENT[:-1])
    assert api.client.get(path).status_code == 410


def test_while_the_storage_is_down_downloads_say_so_and_the_list_works(
    connection_to_s3: FaultyConnection, api: Api, path: str
) -> None:
    connection_to_s3.mode = "refuse"
    assert api.client.get(path).status_code == 503
    assert api.client.head(path).status_code == 503
    assert api.get().json()["count"] == 1
    connection_to_s3.mode = "pass"
    assert body(api.client.get(path)) == CONTENT


def test_a_download_that_breaks_off_never_ends_as_if_it_were_whole(
    connection_to_s3: FaultyConnection, api: Api
) -> None:
    from documents.exceptions import StorageUnavailable

    content = CONTENT * 300
    document_id = api.upload(content).json()["id"]
    connection_to_s3.mode, connection_to_s3.cut_after = "cut", 2_000_000
    answer = api.get(f"/{document_id}/download")
    with pytest.raises(StorageUnavailable):
        body(answer)


# Pure functions


@given(st.text(max_size=60) | st.from_regex(r"bytes=\d{0,25}-\d{0,25}", fullmatch=True), st.integers(1, 10**12))
def test_any_range_header_gives_a_range_within_the_file(header: str, size: int) -> None:
    try:
        asked = parse_range(header, size)
    except RangeNotSatisfiable:
        return
    assert asked is None or 0 <= asked.first <= asked.last < size


@given(st.integers(1, 10**9), st.data())
def test_a_well_formed_range_means_what_it_says(size: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, 2 * size))
    assert parse_range(f"bytes={first}-{last}", size) == ByteRange(first, min(last, size - 1))


names = st.text(st.characters() | st.sampled_from("\"\\;,\r\n\0%'*=/.\u202e"), max_size=300)


@given(names)
def test_a_file_name_makes_exactly_one_harmless_header(name: str) -> None:
    header = content_disposition(display_name(name))
    match = re.fullmatch(
        r"attachment; filename=\"([A-Za-z0-9 ._()-]+)\"; filename\*=UTF-8''([\w.~%-]+)", header, re.ASCII
    )
    assert match
    assert unquote(match[2], errors="strict") == display_name(name)
