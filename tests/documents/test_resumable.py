"""Resumable uploads: what has arrived stays, whoever is cut off, and the file becomes one document."""

import base64
import errno
import hashlib
import io
import os
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dms_project.tenancy import use
from documents import ingest as ingesting
from documents import resumable
from documents.exceptions import OffsetConflict, StorageUnavailable
from documents.models import Document, DocumentVersion, IntakeRules, ResumableUpload, UploadPiece
from documents.states import Duplicates
from documents.storage import ObjectStore
from tests.documents.command import documents
from tests.documents.http import Api

PIECE_TYPE = "application/offset+octet-stream"
CONTENT = os.urandom(2_500)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resumable, "PIECE_BYTES", 1_000)


def metadata(**about: str) -> str:
    return ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in about.items())


class Tus:
    """A client of the protocol."""

    def __init__(self, api: Api) -> None:
        self.client = api.client

    def ask(self, method: str, address: str, body: bytes = b"", **headers: str) -> Any:
        names = {name.replace("_", "-"): value for name, value in {"tus_resumable": "1.0.0", **headers}.items()}
        kind = names.pop("content-type", PIECE_TYPE)
        return self.client.generic(method, address, body, content_type=kind, headers=names)

    def begin(self, size: int = len(CONTENT), body: bytes = b"", **about: str) -> str:
        about = {"filename": "report.txt"} | about
        answer = self.ask("POST", "/api/uploads", body, upload_length=str(size), upload_metadata=metadata(**about))
        assert answer.status_code == 201, answer.content
        return str(answer["Location"])

    def send(self, address: str, offset: int, body: bytes) -> Any:
        return self.ask("PATCH", address, body, upload_offset=str(offset))

    def offset(self, address: str) -> int:
        return int(self.ask("HEAD", address)["Upload-Offset"])


@pytest.fixture
def tus(api: Api) -> Tus:
    return Tus(api)


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_file_that_comes_in_pieces_becomes_the_document_that_it_would_have_been(
    tus: Tus, own_store: ObjectStore
) -> None:
    address = tus.begin(title="The report", tags="work, tax")
    for start, end in ((0, 1_700), (1_700, 1_701), (1_701, 2_499)):
        answer = tus.send(address, start, CONTENT[start:end])
        assert (answer.status_code, answer["Upload-Offset"], answer["Tus-Resumable"]) == (204, str(end), "1.0.0")
        assert "GMT" in answer["Upload-Expires"]
        assert tus.offset(address) == end
    assert not Document.objects.exists()
    assert UploadPiece.objects.count() == 4  # the first was cut after a thousand

    assert tus.send(address, 2_499, CONTENT[2_499:])["Upload-Offset"] == "2500"

    version = DocumentVersion.objects.get()
    assert (version.sha256, version.size_bytes) == (hashlib.sha256(CONTENT).hexdigest(), 2_500)
    assert version.document.title == "The report"
    assert [tag.name for tag in version.document.tags.order_by("name")] == ["tax", "work"]
    assert list(own_store.list_keys()) == [version.storage_key]
    assert b"".join(own_store.open(version.storage_key)) == CONTENT
    assert tus.client.get(address).json() | {"expires_at": ""} == {
        "id": address.rpartition("/")[2],
        "file_name": "report.txt",
        "size_bytes": 2_500,
        "received_bytes": 2_500,
        "expires_at": "",
        "document_id": str(version.document_id),
        "duplicate": False,
        "restored": False,
    }


@settings(max_examples=8, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.sets(st.integers(1, 2_499), max_size=6))
def test_however_it_is_cut_it_is_the_same_file(api: Api, cuts: set[int]) -> None:
    tus = Tus(api)
    content = os.urandom(2_500)
    address = tus.begin()
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 2_500], strict=True):
        tus.send(address, start, content[start:end])
    assert DocumentVersion.objects.filter(sha256=hashlib.sha256(content).hexdigest()).exists()


def test_the_first_bytes_may_come_with_the_beginning(tus: Tus) -> None:
    address = tus.begin(body=CONTENT[:1_200])
    assert tus.offset(address) == 1_200
    assert tus.begin(size=4, body=b"1234")
    assert DocumentVersion.objects.get().size_bytes == 4


def test_a_body_that_breaks_off_leaves_what_has_come(tus: Tus) -> None:
    upload = ResumableUpload.objects.get(pk=tus.begin().rpartition("/")[2])

    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 0, 300)) or self._gone()

        def _gone(self) -> bytes:
            raise ConnectionResetError

    assert resumable.receive(upload, 0, Broken(CONTENT[:1_400]), 2_500).received_bytes == 1_400
    assert resumable.receive(upload, 1_400, io.BytesIO(CONTENT[1_400:]), 1_100).document_id


def test_of_two_who_send_for_the_same_place_one_is_told_to_ask(tus: Tus, local_store: ObjectStore) -> None:
    address = tus.begin()
    first, second = (ResumableUpload.objects.get() for _ in range(2))
    resumable.receive(first, 0, io.BytesIO(CONTENT[:700]), 700)
    with pytest.raises(OffsetConflict):
        resumable.receive(second, 0, io.BytesIO(b"x" * 900), 900)
    assert tus.offset(address) == 700
    assert len(list(local_store.list_keys())) == 1

    last, too_late = (ResumableUpload.objects.get() for _ in range(2))
    tus.send(address, 700, CONTENT[700:])
    assert last.received_bytes == too_late.received_bytes == 700
    with pytest.raises(OffsetConflict):
        resumable.receive(too_late, 700, io.BytesIO(b"y" * 1_800), 1_800)
    with pytest.raises(OffsetConflict):  # and finds its pieces gone
        resumable.receive(last, 700, io.BytesIO(CONTENT[700:]), 1_800)
    assert tus.offset(address) == 2_500
    assert DocumentVersion.objects.get().sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert len(list(local_store.list_keys())) == 1


def test_who_missed_the_last_answer_learns_what_has_become_of_it(tus: Tus) -> None:
    address = tus.begin()
    tus.send(address, 0, CONTENT)
    assert code(tus.send(address, 0, CONTENT)) == (409, "offset_conflict")
    assert tus.offset(address) == 2_500
    assert tus.client.get(address).json()["document_id"] == str(Document.objects.get().pk)


def test_bytes_that_are_here_already_are_a_duplicate_or_refused_as_the_tenant_wants_it(
    tus: Tus, api: Api, local_store: ObjectStore
) -> None:
    known = api.upload(CONTENT).json()["id"]
    address = tus.begin()
    tus.send(address, 0, CONTENT)
    told = tus.client.get(address).json()
    assert (told["document_id"], told["duplicate"], told["restored"]) == (known, True, False)

    IntakeRules.objects.create(duplicates=Duplicates.REFUSE)
    address = tus.begin()
    tus.send(address, 0, CONTENT[:1_300])
    answer = tus.send(address, 1_300, CONTENT[1_300:])
    assert code(answer) == (409, "duplicate")
    assert answer.json()["document_id"] == known
    assert tus.ask("HEAD", address).status_code == 404
    assert len(list(local_store.list_keys())) == 1


def test_a_storage_that_fails_at_the_end_costs_the_last_piece(tus: Tus, monkeypatch: pytest.MonkeyPatch) -> None:
    address = tus.begin()
    tus.send(address, 0, CONTENT[:2_000])
    with monkeypatch.context() as patch:

        def fail(*args: Any) -> None:
            raise StorageUnavailable("away")

        patch.setattr(ObjectStore, "put", fail)
        assert code(tus.send(address, 2_000, CONTENT[2_000:])) == (503, "storage_unavailable")
    assert tus.offset(address) == 2_000
    assert tus.send(address, 2_000, CONTENT[2_000:]).status_code == 204
    assert Document.objects.count() == 1


def test_a_full_folder_for_temporary_files_is_told_and_costs_nothing(tus: Tus, monkeypatch: pytest.MonkeyPatch) -> None:
    address = tus.begin()
    tus.send(address, 0, CONTENT[:1_000])

    class Full(io.BytesIO):
        def write(self, chunk: Any, /) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("documents.resumable.tempfile.TemporaryFile", lambda dir: Full())
        assert code(tus.send(address, 1_000, CONTENT[1_000:])) == (507, "storage_full")
    assert tus.offset(address) == 1_000
    assert tus.send(address, 1_000, CONTENT[1_000:]).status_code == 204


def test_a_piece_that_the_storage_has_lost_ends_the_upload(tus: Tus, local_store: ObjectStore) -> None:
    address = tus.begin()
    tus.send(address, 0, CONTENT[:2_000])
    local_store.delete(UploadPiece.objects.latest("pk").storage_key)
    assert code(tus.send(address, 2_000, CONTENT[2_000:])) == (404, "upload_not_found")
    assert list(local_store.list_keys()) == []
    assert not Document.objects.exists()


def test_nobody_else_has_it(tus: Tus, tenant: str, local_store: ObjectStore) -> None:
    address = tus.begin()
    other = "globex" if tenant == "acme" else "acme"
    with use(other):
        stranger = Tus(Api(other, User.objects.create_user("stranger")))
    for somebody in (Tus(Api(tenant, User.objects.create_user("bob"))), stranger):
        for answer in (
            somebody.client.get(address), somebody.ask("HEAD", address), somebody.send(address, 0, CONTENT),
            somebody.ask("DELETE", address),
        ):  # fmt: skip
            assert answer.status_code == 404
    assert tus.offset(address) == 0
    assert list(local_store.list_keys()) == []


def test_it_is_gone_when_it_is_given_up_or_has_expired(tus: Tus, local_store: ObjectStore, tenant: str) -> None:
    given_up, expired, goes_on = (tus.begin() for _ in range(3))
    for address in (given_up, expired, goes_on):
        tus.send(address, 0, CONTENT[:1_500])
    assert tus.ask("DELETE", given_up).status_code == 204
    assert len(list(local_store.list_keys())) == 4
    late = ResumableUpload.objects.get(pk=expired.rpartition("/")[2])
    late.expires_at -= timedelta(hours=25)
    late.save()
    assert tus.ask("HEAD", expired).status_code == 404

    documents("collect-orphans", "--older-than", "0", "--tenant", tenant)

    assert ResumableUpload.objects.count() == 1
    assert len(list(local_store.list_keys())) == 2
    assert tus.send(goes_on, 1_500, CONTENT[1_500:]).status_code == 204


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ({"upload_length": "0"}, (400, "empty_file")),
        ({"upload_length": "-1"}, (400, "invalid_value")),
        ({"upload_length": "9" * 40}, (400, "invalid_value")),
        ({"upload_length": "\N{ARABIC-INDIC DIGIT FIVE}"}, (400, "invalid_value")),
        ({}, (400, "invalid_value")),
        ({"upload_length": "999999999999999"}, (413, "file_too_large")),
        ({"upload_length": "5", "upload_metadata": "filename %%%"}, (400, "invalid_value")),
        ({"upload_length": "5", "upload_metadata": "filename /w=="}, (400, "invalid_value")),
        ({"upload_length": "5", "upload_metadata": "filename \xe9"}, (400, "invalid_value")),
        ({"upload_length": "5", "tus_resumable": "0.2.2"}, (412, "tus_version")),
    ],
)
def test_what_can_not_begin_is_told_why(tus: Tus, headers: dict[str, str], answer: tuple[int, str]) -> None:
    assert code(tus.ask("POST", "/api/uploads", **headers)) == answer
    assert not ResumableUpload.objects.exists()


@pytest.mark.parametrize(
    ("headers", "body", "answer"),
    [
        ({"upload_offset": "1"}, b"x", (409, "offset_conflict")),
        ({"upload_offset": "-1"}, b"x", (400, "invalid_value")),
        ({}, b"x", (400, "invalid_value")),
        ({"upload_offset": "0", "content-type": "text/plain"}, b"x", (415, "content_type")),
        ({"upload_offset": "0"}, b"x" * 2_501, (413, "file_too_large")),
        ({"upload_offset": "0", "tus_resumable": "2.0.0"}, b"x", (412, "tus_version")),
    ],
)
def test_bytes_that_do_not_fit_are_not_taken(
    tus: Tus, headers: dict[str, str], body: bytes, answer: tuple[int, str], local_store: ObjectStore
) -> None:
    address = tus.begin()
    assert code(tus.ask("PATCH", address, body, **headers)) == answer
    assert tus.offset(address) == 0
    assert list(local_store.list_keys()) == []


def test_names_are_made_safe_and_limits_hold_from_the_beginning(
    tus: Tus, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    tus.begin(filename="../../etc/\0pass\nwd\u202e.txt", title="x" * 900)
    kept = ResumableUpload.objects.get()
    assert (kept.file_name, len(kept.title)) == ("pass wd .txt", 255)

    monkeypatch.setattr(resumable, "MOST_UNFINISHED", 1)
    assert code(tus.ask("POST", "/api/uploads", upload_length="5")) == (429, "too_many_uploads")
    IntakeRules.objects.create(max_file_bytes=10, max_total_bytes=4)
    assert code(tus.ask("POST", "/api/uploads", upload_length="11")) == (413, "file_too_large")
    assert code(tus.ask("POST", "/api/uploads", upload_length="5")) == (413, "tenant_full")


def test_it_tells_what_it_speaks(tus: Tus) -> None:
    answer = tus.client.options("/api/uploads")
    assert (answer.status_code, answer["Tus-Version"], answer["Tus-Max-Size"]) == (204, "1.0.0", str(2 * 2**30))
    assert answer["Tus-Extension"] == "creation,creation-with-upload,termination,expiration"


def test_a_process_that_dies_while_it_writes_the_document_leaves_a_whole_or_nothing(
    tus: Tus, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = tus.begin()
    with monkeypatch.context() as patch:

        def die(*args: Any) -> None:
            raise SystemExit

        patch.setattr(ingesting, "enqueue_processing", die)
        with pytest.raises(SystemExit):
            tus.send(address, 0, CONTENT)
    assert not Document.objects.exists()
    assert tus.offset(address) == 2_000
    assert tus.send(address, 2_000, CONTENT[2_000:]).status_code == 204
    assert DocumentVersion.objects.get().sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_an_id_that_is_none_is_unknown(tus: Tus) -> None:
    assert tus.ask("HEAD", f"/api/uploads/{uuid4()}").status_code == 404
