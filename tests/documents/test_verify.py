"""``manage.py documents verify``: rows and objects are compared, both ways (D27)."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User

from dms_project.tenancy import use
from documents.models import Document, DocumentVersion
from documents.storage import ObjectStore, key_of
from tests.documents import files
from tests.documents.command import documents
from tests.documents.http import Api
from tests.documents.test_storage import put
from tests.documents.work import work_off
from tests.faults.proxy import FaultyConnection


def of(version: DocumentVersion) -> str:
    return version.storage_key


def test_where_nothing_is_wrong_it_says_so_and_ends_with_0(api: Api, own_store: ObjectStore) -> None:
    api.upload(b"one")
    api.client.delete(f"/api/documents/{api.upload(b'in the trash').json()['id']}")
    out, err = documents("verify")
    assert (out.status, err.getvalue()) == (0, "")
    assert out.lines == ["objects compared: 2 (15 bytes); problems: none"]


def test_what_is_missing_damaged_or_nobodys_is_named_with_what_to_do(
    api: Api, own_store: ObjectStore, tenant: str, settings: Any
) -> None:
    settings.DMS_ORPHAN_GRACE = timedelta(0)
    versions = {}
    for name in ("sound", "missing", "shorter", "altered"):
        document_id = api.upload(name.encode() * 9).json()["id"]
        versions[name] = DocumentVersion.objects.get(document=document_id)
    for name, content in {"missing": b"", "shorter": b"x", "altered": b"x" * 63}.items():
        own_store.delete(of(versions[name]))
        if content:
            put(own_store, content, of(versions[name]))
    orphan = put(own_store, b"orphan", key_of(tenant, uuid4(), 1))
    stray = put(own_store, b"stray", f"{tenant}/notes.txt")
    left = put(own_store, b"of a tenant that is gone", key_of("departed", uuid4(), 1))
    out, _ = documents("verify")
    assert out.status == 1
    said = {line.split()[1]: line for line in out.lines[:-1]}
    assert said.keys() == {of(versions[name]) for name in ("missing", "shorter", "altered")} | {orphan, stray, left}
    for name, fault in {"missing": "missing", "shorter": "damaged", "altered": "damaged"}.items():
        line = said[of(versions[name])]
        assert line.startswith(fault)
        assert str(versions[name].document_id) in line
        assert "backup" in line
    assert "it has 1 bytes instead of 63" in said[of(versions["shorter"])]
    assert f"collect-orphans --tenant {tenant}" in said[orphan]
    assert "there is no tenant departed" in said[left]
    assert "move it elsewhere" in said[stray]


def test_a_thumbnail_is_compared_too_and_the_one_before_it_is_an_orphan(
    api: Api, local_store: ObjectStore, tenant: str
) -> None:
    path = f"/api/documents/{api.upload(files.pdf('words')).json()['id']}"
    work_off()
    [before] = DocumentVersion.objects.values_list("thumbnail_key", flat=True)
    assert documents("verify")[0].lines[0].startswith("objects compared: 2 ")
    api.client.post(f"{path}/reprocess")
    work_off()
    [drawn_anew] = DocumentVersion.objects.values_list("thumbnail_key", flat=True)
    assert documents("collect-orphans", "--older-than", "0")[0].lines[0] == f"orphan      {before}"
    local_store.delete(drawn_anew)
    [line, _] = documents("verify")[0].lines
    assert line.startswith(f"missing     {drawn_anew}")
    assert line.endswith("reprocess the document: it is made from the original")


def test_rows_and_objects_are_compared_in_portions(
    api: Api, local_store: ObjectStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("documents.verification", "documents.orphans"):
        monkeypatch.setattr(f"{module}._BATCH", 3)
    monkeypatch.setattr("documents.storage._local._PORTION", 2)
    for number in range(9):
        api.upload(b"%d" % number)
    lost = {version.storage_key for version in DocumentVersion.objects.order_by("pk")[2:8:2]}
    for key in lost:
        local_store.delete(key)
    orphans_put = {put(local_store, b"orphan", key_of(tenant, uuid4(), 1)) for _ in range(7)}
    out, _ = documents("verify")
    assert {line.split()[1] for line in out.lines[:-1]} == lost
    assert out.lines[-1].startswith("objects compared: 9 (9 bytes); problems: 3; without a row, but too young")
    out, _ = documents("collect-orphans", "--older-than", "0")
    assert {line.split()[1] for line in out.lines[:-2]} == orphans_put


def test_programs_get_one_json_object(api: Api, own_store: ObjectStore, tenant: str) -> None:
    api.upload(b"sound")
    api.upload(b"gone")
    version = DocumentVersion.objects.get(size_bytes=4)
    own_store.delete(of(version))
    out, _ = documents("verify", "--json", "--tenant", tenant)
    report = json.loads(out.getvalue())
    assert (out.status, report["complete"], report["objects"]) == (1, True, 2)
    [problem] = report["problems"]
    assert (problem["fault"], problem["key"], problem["tenant"]) == ("missing", of(version), tenant)
    assert problem["document_id"] == str(version.document_id)


def test_an_object_without_a_row_is_not_wrong_while_it_may_belong_to_an_upload(
    api: Api, own_store: ObjectStore, tenant: str
) -> None:
    put(own_store, b"just now", key_of(tenant, uuid4(), 1))
    out, _ = documents("verify")
    assert out.status == 0
    assert out.lines == ["objects compared: 0 (0 bytes); problems: none; without a row, but too young to be orphans: 1"]


def test_one_tenant_alone_is_compared_if_it_is_named(committed_db: None, local_store: ObjectStore) -> None:
    for name in ("acme", "globex"):
        with use(name):
            Api(name, User.objects.create_user("alice")).upload(name.encode())
            local_store.delete(DocumentVersion.objects.get().storage_key)
    out, _ = documents("verify", "--tenant", "acme")
    assert [line.split()[1].split("/")[0] for line in out.lines[:-1]] == ["acme"]
    out, _ = documents("verify")
    assert [line.split()[1].split("/")[0] for line in out.lines[:-1]] == ["acme", "globex"]


def test_if_it_can_not_look_it_ends_with_2(connection_to_s3: FaultyConnection, api: Api) -> None:
    api.upload(b"content")
    connection_to_s3.mode = "refuse"
    out, err = documents("verify", "--json")
    assert out.status == 2
    assert err.getvalue().startswith("The storage can't be used: S3")
    assert json.loads(out.getvalue())["complete"] is False
    out, err = documents("verify", "--tenant", "nobody")
    assert out.status == 2


def test_an_unknown_tenant_is_said_in_one_line(api: Api) -> None:
    for verb in ("verify", "collect-orphans"):
        out, err = documents(verb, "--tenant", "nobody")
        assert out.status == (2 if verb == "verify" else 1)
        assert err.lines == ["There is no tenant nobody, and no object of one; there are acme, globex."]


def test_a_document_that_is_deleted_meanwhile_is_no_problem(
    api: Api, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.upload(b"content")
    opened = type(local_store).open

    def delete_and_open(store: ObjectStore, key: str, *args: Any, **kwargs: Any) -> Any:
        Document.objects.all().delete()
        store.delete(key)
        return opened(store, key, *args, **kwargs)

    monkeypatch.setattr(type(local_store), "open", delete_and_open)
    out, _ = documents("verify")
    assert out.status == 0


def test_on_a_terminal_a_bar_shows_how_far_it_is_and_goes_again(
    api: Api, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dms_project.tenancy.management.progress._PAUSE_SECONDS", -1)
    for number in range(4):
        api.upload(b"%d" % number)
    _, err = documents("verify", terminal=True)
    assert "█" * 15 + "·" * 15 + "  50%  2 of 4" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")
