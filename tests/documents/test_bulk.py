"""Many documents at once: tagged, trashed, restored, and sent as a ZIP file that is never whole anywhere (D13, D25)."""

import json
import tracemalloc
from io import BytesIO
from typing import Any
from uuid import uuid4
from zipfile import BadZipFile, ZipFile

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dms_project.tenancy import use
from documents.exceptions import StorageUnavailable
from documents.models import AuditEntry, Document, DocumentVersion
from documents.storage import ObjectStore
from tests.documents.http import Api


def bulk(api: Api, **asked: Any) -> Any:
    return api.client.post("/api/documents/bulk", json.dumps(asked), "application/json")


def zip_of(api: Api, *ids: str) -> Any:
    return api.get("/zip", query_params={"id": ids})


def opened(answer: Any) -> ZipFile:
    assert answer.status_code == 200
    return ZipFile(BytesIO(b"".join(answer)))


def test_each_is_changed_by_itself_and_written_down(api: Api) -> None:
    ids = [api.upload(b"%d" % number).json()["id"] for number in range(3)]
    assert bulk(api, action="tag", ids=ids, tags=["a"]).json() == {"changed": 3, "missing": 0}
    assert bulk(api, action="trash", ids=ids[:2]).json() == {"changed": 2, "missing": 0}
    assert bulk(api, action="trash", ids=[*ids, ids[2]]).json() == {"changed": 1, "missing": 2}
    assert bulk(api, action="restore", ids=[*ids, str(uuid4())]).json() == {"changed": 3, "missing": 1}
    deeds = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert deeds == ["uploaded"] * 3 + ["tagged"] * 3 + ["trashed"] * 3 + ["restored"] * 3


def test_ids_of_another_tenant_are_missing_like_those_that_nobody_has(api: Api, tenant: str) -> None:
    elsewhere = {"acme": "globex", "globex": "acme"}[tenant]
    with use(elsewhere):
        foreign = Api(elsewhere, User.objects.create_user("bob")).upload(b"theirs").json()["id"]
    own = api.upload(b"mine", "mine.txt").json()["id"]
    assert bulk(api, action="trash", ids=[foreign, own]).json() == {"changed": 1, "missing": 1}
    with use(elsewhere):
        assert Document.objects.get().deleted_at is None
    assert zip_of(api, foreign, own).status_code == 404
    bulk(api, action="restore", ids=[own])
    assert opened(zip_of(api, foreign, own)).namelist() == ["mine.txt"]


@pytest.mark.parametrize(
    "asked",
    [
        {"action": "purge", "ids": [str(uuid4())]},
        {"action": "trash", "ids": []},
        {"action": "trash", "ids": ["x"]},
        {"action": "trash", "ids": [str(uuid4())] * 501},
        {"action": "tag", "ids": [str(uuid4())], "tags": ["a,b"]},
    ],
)
def test_what_cannot_be_done_is_refused(api: Api, asked: dict[str, Any]) -> None:
    assert bulk(api, **asked).status_code in (400, 422)


def test_a_zip_file_has_the_originals_under_names_of_their_own(api: Api) -> None:
    contents = {"a.txt": b"one", "A.TXT": b"two", "noname": b"three", "ü €.txt": b"four"}
    ids = [api.upload(content, name).json()["id"] for name, content in contents.items()]
    answer = zip_of(api, *ids, ids[0])
    assert answer["Content-Type"] == "application/zip"
    assert answer["Content-Disposition"].startswith("attachment; ")
    archive = opened(answer)
    assert archive.testzip() is None
    assert sorted(archive.read(name) for name in archive.namelist()) == sorted(contents.values())
    assert len({name.casefold() for name in archive.namelist()}) == 4
    assert "ü €.txt" in archive.namelist()
    assert not any("/" in name or name.startswith(".") for name in archive.namelist())


def test_a_large_zip_file_is_never_whole_in_memory(api: Api) -> None:
    ids = [api.upload(bytes([number]) * 8 * 2**20, f"{number}.bin").json()["id"] for number in range(3)]
    answer = zip_of(api, *ids)
    tracemalloc.start()
    length = sum(map(len, answer))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert length > 24 * 2**20
    assert peak < 4 * 2**20


def test_an_original_that_is_missing_is_an_answer_at_first_and_a_broken_file_later(
    api: Api, local_store: ObjectStore
) -> None:
    first, second = (api.upload(content, title=title).json()["id"] for content, title in ((b"1", "a"), (b"2", "b")))
    local_store.delete(DocumentVersion.objects.get(document=second).storage_key)
    pieces = []
    with pytest.raises(Exception, match="There is no object"):
        pieces.extend(zip_of(api, first, second))
    with pytest.raises(BadZipFile):
        ZipFile(BytesIO(b"".join(pieces)))
    local_store.delete(DocumentVersion.objects.get(document=first).storage_key)
    assert zip_of(api, first, second).status_code == 410


def test_while_the_storage_is_away_no_zip_file_begins(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = api.upload(b"1").json()["id"]

    def away(*args: object, **kwargs: object) -> None:
        raise StorageUnavailable("away")

    monkeypatch.setattr("documents.storage._base.ObjectStore.open_whole", away)
    assert zip_of(api, document_id).status_code == 503


def test_a_list_says_what_became_of_what_was_ticked(api: Api, user: User, tenant: str) -> None:
    ids = [api.upload(b"%d" % number).json()["id"] for number in range(2)]
    browser = Client(headers={"host": f"{tenant}.localhost"})
    browser.force_login(user)

    def said(**form: Any) -> str:
        answer = browser.post("/bulk", form, follow=True)
        assert answer.redirect_chain[0][0] == form.get("next", "/")
        return answer.content.decode()

    assert "2 documents tagged." in said(id=ids, action="tag", tags="one, two", next="/?q=x")
    assert "No tag was given" in said(id=ids, action="tag", tags=" ")
    assert "be so long" in said(id=ids, action="tag", tags="x" * 65)
    assert "1 document is in the trash." in said(id=ids[:1], action="trash")
    assert "1 document is in the trash. 1 was not there any more." in said(id=ids, action="trash")
    assert "2 documents are back." in said(id=[*ids, "nonsense"], action="restore", next="/trash/")
    whole = browser.post("/bulk", {"id": ids, "action": "download"})
    assert len(opened(whole).namelist()) == 2
    for odd in ({"action": "purge"}, {"action": "trash", "id": "x"}, {}):
        assert browser.post("/bulk", odd | {"next": "https://example.com/"})["Location"] == "/"
    assert Document.objects.filter(deleted_at=None).count() == 2
