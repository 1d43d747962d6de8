"""``manage.py documents collect-orphans``: what no row names goes, and nothing else, also beside uploads (D27)."""

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from documents import orphans
from documents.models import DocumentVersion
from documents.storage import ObjectStore, key_of
from tests.documents.command import documents
from tests.documents.http import Api
from tests.documents.test_storage import put


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
