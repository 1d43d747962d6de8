"""``manage.py documents prepare-storage``: a folder is marked once, and the storage proven (D32)."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from documents.storage import ObjectStore
from tests.documents.command import documents
from tests.documents.http import Api


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
