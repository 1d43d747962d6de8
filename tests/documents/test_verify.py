"""``manage.py documents``: comparing rows with objects, removing orphans, preparing the storage (D27, D32)."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from documents import orphans, trial
from documents.models import Document, DocumentVersion
from documents.storage import ObjectStore, key_of
from tests.documents import files
from tests.documents.http import Api
from tests.documents.servers import S3Server, s3_storage, use_storage
from tests.documents.test_storage import put
from tests.documents.work import work_off
from tests.faults.proxy import FaultyConnection


class Output(StringIO):
    """What a command prints, and how it ended."""

    status = 0

    @property
    def lines(self) -> list[str]:
        return self.getvalue().splitlines()


def documents(*arguments: str, terminal: bool = False) -> tuple[Output, Output]:
    out, err = Output(), Output()
    err.isatty = lambda: terminal  # type: ignore[method-assign]
    try:
        call_command("documents", *arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        out.status = int(ended.code or 0)
    except CommandError as error:
        err.write(str(error))
        out.status = error.returncode
    return out, err


@pytest.fixture(params=["local", "s3"])
def own_store(request: pytest.FixtureRequest, settings: Any, tenant: str) -> ObjectStore:
    """A store that holds nothing of other tests."""
    if request.param == "local":
        return request.getfixturevalue("local_store")  # type: ignore[no-any-return]
    request.getfixturevalue("s3_store")
    server: S3Server = request.getfixturevalue("s3_server")
    store = use_storage(settings, s3_storage(server.port, bucket="verified"))
    trial.try_out(store)  # makes the bucket, too
    for name in ("acme", "globex", "departed"):
        store.delete_tenant(name)
    return store


def of(version: DocumentVersion) -> str:
    return version.storage_key


# Verify


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
    monkeypatch.setattr("documents.management.progress._PAUSE_SECONDS", -1)
    for number in range(4):
        api.upload(b"%d" % number)
    _, err = documents("verify", terminal=True)
    assert "█" * 15 + "·" * 15 + "  50%  2 of 4" in err.getvalue()
    assert err.getvalue().endswith("\r\x1b[K")


# The collector


def test_orphans_are_removed_once_they_are_old_enough(api: Api, own_store: ObjectStore, tenant: str) -> None:
    api.upload(b"content")
    named = DocumentVersion.objects.get().storage_key
    stray = put(own_store, b"stray", f"{tenant}/notes.txt")
    orphan = put(own_store, b"orphan", key_of(tenant, uuid4(), 1))
    left = put(own_store, b"of a tenant that is gone", key_of("departed", uuid4(), 1))
    out, _ = documents("collect-orphans")
    assert out.lines == [
        "in all: orphans removed: 0 (0 bytes), unfinished puts: 0; left, since they may belong to uploads under way: 2"
    ]
    out, _ = documents("collect-orphans", "--older-than", "0", "--dry-run")
    assert out.lines[-1] == "in all: orphans to be removed: 2 (30 bytes), unfinished puts: 0"
    assert set(own_store.list_keys()) == {named, stray, orphan, left}
    out, _ = documents("collect-orphans", "--older-than", "0", "--tenant", tenant)
    assert out.lines == [
        f"orphan      {orphan}",
        f"{tenant}: orphans removed: 1 (6 bytes), unfinished puts: 0",
        "in all: orphans removed: 1 (6 bytes), unfinished puts: 0",
    ]
    assert set(own_store.list_keys()) == {named, stray, left}
    documents("collect-orphans", "--older-than", "0")
    assert set(own_store.list_keys()) == {named, stray}


def test_what_a_put_that_was_cut_off_left_is_removed(
    own_store: ObjectStore, tenant: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if (tmp_path / "storage" / tenant).exists() or not hasattr(own_store, "_client"):
        folder = tmp_path / "storage" / tenant / str(uuid4()) / "1"
        folder.mkdir(parents=True)
        (folder / ".original.x1y2z3").write_bytes(b"half")
    else:
        client = own_store._client
        client.create_multipart_upload(Bucket="verified", Key=key_of(tenant, uuid4(), 1))
    [unfinished] = own_store.list_unfinished(f"{tenant}/")
    assert unfinished.key.endswith("/1/original")
    assert documents("collect-orphans")[0].lines == ["in all: orphans removed: 0 (0 bytes), unfinished puts: 0"]
    out, _ = documents("collect-orphans", "--older-than", "0")
    assert out.lines[-1] == "in all: orphans removed: 0 (0 bytes), unfinished puts: 1"
    assert list(own_store.list_unfinished(f"{tenant}/")) == []


@pytest.mark.parametrize("text", ["", "soon", "-1h", "24", "1.5h", "5w"])
def test_an_age_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="duration, such as 24h, 30m or 0"):
        call_command("documents", "collect-orphans", f"--older-than={text}")


@pytest.mark.parametrize("moment", ["before the row", "while the row is written", "after the row"])
def test_an_upload_under_way_is_kept_or_fails_clearly_but_never_has_a_row_without_its_object(
    committed_db: None, store: ObjectStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The collector, without any grace, runs to its end at each moment of an upload."""
    with use("acme"):
        api = Api("acme", User.objects.create_user("alice"))

    def collect_meanwhile() -> None:
        thread = threading.Thread(target=lambda: orphans.collect("acme", timedelta(0)))
        thread.start()
        thread.join(20)
        assert not thread.is_alive()

    where = {
        "before the row": "documents.objects.hold",
        "while the row is written": "documents.audit.record",
        "after the row": "documents.ingest.Ingested",
    }[moment]
    module, name = where.rsplit(".", 1)
    original: Callable[..., Any] = getattr(__import__(module, fromlist=[name]), name)

    def collect_and_go_on(*args: Any, **kwargs: Any) -> Any:
        collect_meanwhile()
        return original(*args, **kwargs)

    monkeypatch.setattr(where, collect_and_go_on)
    answer = api.upload(b"content")
    monkeypatch.undo()
    assert answer.status_code == (503 if moment == "before the row" else 201)
    with use("acme"):
        keys = set(DocumentVersion.objects.values_list("storage_key", flat=True))
        assert len(keys) == (0 if moment == "before the row" else 1)
    assert keys <= set(store.list_keys("acme/"))
    assert api.upload(b"content").status_code == (201 if moment == "before the row" else 200)


def test_uploads_beside_a_collector_without_grace_lose_nothing_they_promised(
    committed_db: None, local_store: ObjectStore
) -> None:
    with use("acme"):
        api = Api("acme", User.objects.create_user("alice"))
    ended, statuses = threading.Event(), []

    def collect() -> None:
        while not ended.is_set():
            orphans.collect("acme", timedelta(0))

    def upload(number: int) -> None:
        statuses.extend(api.upload(b"%d %d" % (number, round)).status_code for round in range(10))

    collector = threading.Thread(target=collect)
    uploaders = [threading.Thread(target=upload, args=(number,)) for number in range(4)]
    for thread in (collector, *uploaders):
        thread.start()
    for thread in uploaders:
        thread.join()
    ended.set()
    collector.join()
    assert set(statuses) <= {201, 503}
    with use("acme"):
        rows = set(DocumentVersion.objects.values_list("storage_key", flat=True))
    assert len(rows) == statuses.count(201)
    assert rows == set(local_store.list_keys("acme/"))


# Preparing the storage


def test_the_storage_is_prepared_once_and_proven(tmp_path: Path, settings: Any, tenant: str) -> None:
    folder = tmp_path / "new" / "folder"
    settings.STORAGES = settings.STORAGES | {
        "documents": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(folder)},
        }
    }
    for _ in range(2):
        out, _ = documents("prepare-storage")
        assert (out.status, out.lines) == (0, ["The storage is ready: what was put in came back bit by bit."])
    assert [path.name for path in folder.iterdir()] == [".dms-storage"]


def test_an_empty_folder_is_not_prepared_while_there_are_documents(
    api: Api, local_store: ObjectStore, tmp_path: Path, tenant: str
) -> None:
    api.upload(b"content")
    (tmp_path / "storage").rename(tmp_path / "elsewhere")
    (tmp_path / "storage").mkdir()
    out, err = documents("prepare-storage")
    assert out.status == 1
    assert err.getvalue().startswith(f"{tenant} has documents, but the storage is empty: is its volume mounted?")
    assert list((tmp_path / "storage").iterdir()) == []
    out, _ = documents("prepare-storage", "--accept-empty")
    assert out.status == 0


def test_a_folder_of_an_earlier_version_is_taken_over(api: Api, local_store: ObjectStore, tmp_path: Path) -> None:
    api.upload(b"content")
    (tmp_path / "storage" / ".dms-storage").unlink()
    assert api.upload(b"more").status_code == 503
    assert documents("prepare-storage")[0].status == 0
    assert api.upload(b"more").status_code == 201


def test_a_store_that_alters_what_it_is_given_fails_the_trial(
    local_store: ObjectStore, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_if_absent = type(local_store)._put_if_absent

    def put_framed(store: ObjectStore, key: str, file: Any, sha256: str) -> bool:
        return bool(put_if_absent(store, key, BytesIO(b"10;chunk-signature=\r\n" + file.read()), sha256))

    monkeypatch.setattr(type(local_store), "_put_if_absent", put_framed)
    out, err = documents("prepare-storage")
    assert out.status == 1
    assert "makes 22 bytes of 1" in err.getvalue()
    assert list(local_store.list_keys()) == []
