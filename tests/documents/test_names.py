"""File names that want to be paths, headers, or nothing (D15, D18)."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from documents.models import DocumentVersion
from documents.names import display_name
from documents.storage import ObjectStore
from tests.documents.http import Api

NAMES = {
    "../../x": "x",
    "..\\..\\x": "x",
    "/etc/x": "x",
    "C:\\x": "x",
    "a/../../b": "b",
    "%2e%2e%2fx": "%2e%2e%2fx",
    "....//x": "x",
    "a\0b.pdf": "a b.pdf",
    "???": "???",
    "?.??": "?.??",
    ".htaccess": ".htaccess",
    "CON": "CON",
    "Übersicht für März.pdf": "Übersicht für März.pdf",
    "😀.pdf": "😀.pdf",
    "a\u202efdp.exe": "a fdp.exe",
    "<b>.pdf": "<b>.pdf",
}


@pytest.mark.parametrize(("name", "shown"), [*NAMES.items(), ("", "document"), (".", "document"), ("..", "document")])
def test_of_a_name_the_last_part_is_shown(name: str, shown: str) -> None:
    assert display_name(name) == shown


@given(st.text(st.characters() | st.sampled_from("/\\.\0 "), max_size=400))
def test_any_name_is_shown_as_something_safe(name: str) -> None:
    shown = display_name(name)
    assert 0 < len(shown) <= 255
    assert not {"/", "\\", "\0", "\n", "\r"} & set(shown)
    assert shown.strip(". ")


ANY_NAME = st.text(st.characters() | st.sampled_from("/\\.\0 \"';,%\r\n*=~:\u202e"), max_size=300)
DISPOSITION = re.compile(r"attachment; filename=\"[A-Za-z0-9 ._()-]+\"; filename\*=UTF-8''([\w.~%-]+)", re.ASCII)


@hypothesis_settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ANY_NAME, min_size=1, max_size=3).map("/".join))
def test_whatever_a_file_is_called_all_that_is_stored_and_sent_of_it_is_safe(
    api: Api, tenant: str, local_store: ObjectStore, name: str
) -> None:
    """Sent as browsers do it: quotes and line breaks percent-encoded, the rest as UTF-8."""
    sent = name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A").encode("utf-8", "surrogatepass")
    answer = api.client.post(
        "/api/documents", multipart(b'filename="%s"' % sent, uuid4().bytes), "multipart/form-data; boundary=B"
    )
    assert answer.status_code in (201, 422)  # no name at all: no file was chosen
    if answer.status_code == 422:
        return
    document = answer.json()
    for shown in (document["title"], document["file_name"]):
        assert 0 < len(shown) <= 255
        assert not {"/", "\\", "\0", "\r", "\n", "\u202e"} & set(shown)
    download = api.get(f"/{document['id']}/download")
    disposition = DISPOSITION.fullmatch(download["Content-Disposition"])
    assert disposition
    assert unquote(disposition[1], errors="strict") == document["file_name"]
    assert download.status_code == 200
    assert f"{tenant}/{document['id']}/1/original" in local_store.list_keys()
    assert all(re.fullmatch(rf"{tenant}/[0-9a-f-]{{36}}/1/original", key) for key in local_store.list_keys())


def multipart(disposition: bytes, content: bytes = b"content") -> bytes:
    return (
        b'--B\r\nContent-Disposition: form-data; name="file"; ' + disposition + b"\r\n\r\n" + content + b"\r\n--B--\r\n"
    )


DISPOSITIONS = [
    *(b'filename="%s"' % name.encode() for name in NAMES if "\0" not in name),
    b'filename="a\0b"',
    b'filename=""',
    b'filename="."',
    b'filename=".."',
    b'filename="file.pdf/"',
    b"filename*=UTF-8''..%2F..%2Fx",
    b'filename="first"; filename="../second"',
    b'filename="x%0d%0aSet-Cookie: a=b"',
    b'filename="' + b"n" * 500 + b'.pdf"',
    b'filename="\xff\xfe"',
    b"filename=unquoted name",
]


def paths_around(storage: Path) -> set[Path]:
    """What lies beside a store and a level higher, where other tests' servers write only below their own folders."""
    beside = {path for path in storage.parent.rglob("*") if not path.is_relative_to(storage)}
    return beside | set(storage.parent.parent.iterdir())


def test_no_name_reaches_the_storage_or_breaks_the_upload(api: Api, tenant: str, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    before = paths_around(storage)
    for number, disposition in enumerate(DISPOSITIONS):
        answer: Any = api.client.post(
            "/api/documents", multipart(disposition, b"content %d" % number), "multipart/form-data; boundary=B"
        )
        # Without a name a browser means: no file was chosen. Django drops such a part.
        assert answer.status_code in (201, 422), disposition
        if answer.status_code == 201:
            body = answer.json()
            assert body["title"]
            assert "/" not in body["file_name"]
            assert api.get(f"/{body['id']}/download").status_code == 200
    assert paths_around(storage) == before
    stored = [path.relative_to(storage).as_posix() for path in storage.rglob("original")]
    assert len(stored) > len(NAMES)
    assert all(re.fullmatch(rf"{tenant}/[0-9a-f-]{{36}}/1/original", key) for key in stored)


@pytest.mark.parametrize("disposition", [b'filename="\xdcbersicht.pdf"', b'filename=""', b"title"])
def test_where_no_file_with_a_readable_name_came_the_answer_says_what_to_send(
    api: Api, tenant: str, disposition: bytes
) -> None:
    answer: Any = api.client.post("/api/documents", multipart(disposition), "multipart/form-data; boundary=B")
    assert answer.status_code == 422
    assert [error["msg"] for error in answer.json()["detail"]] == [
        "Send a file in the field `file`, with a file name in UTF-8."
    ]


ALIKE = ["a?.pdf", "a#.pdf", "a%3F.pdf", "Logo.png", "logo.png", "Gr\u00fc\u00dfe", "Gru\u0308\u00dfe", "x", "x ", "x."]


def test_names_that_a_disk_or_a_store_could_take_for_one_keep_their_own_objects(api: Api, store: ObjectStore) -> None:
    ids = [api.upload(b"content %d" % number, name).json()["id"] for number, name in enumerate(ALIKE * 2)]
    for number, document_id in enumerate(ids):
        assert b"".join(api.get(f"/{document_id}/download")) == b"content %d" % number
    assert len(set(DocumentVersion.objects.values_list("storage_key", flat=True))) == len(ids)
