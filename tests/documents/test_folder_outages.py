"""The storage folder in trouble: gone, not mounted, read-only, full, or on a disk that hangs (D29, D34)."""

import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dms_project import health
from documents.exceptions import OutageReason
from documents.storage import ObjectStore, object_store
from jobqueue.models import ProcessingJob
from tests.documents.disks import mount, remount, unmount
from tests.documents.http import Api
from tests.documents.servers import use_storage
from tests.documents.test_storage_outages import EVERY_CALL, reason_of
from tests.documents.work import work_off
from tests.stopwatch import Stopwatch


@pytest.fixture
def disk(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """The store is a disk of 3 MiB, mounted where the test can unmount it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount(folder)
    entry = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(folder)}}
    use_storage(settings, entry)
    yield folder
    unmount(folder)


def test_a_folder_that_vanished_is_not_made_again(local_store: ObjectStore, tmp_path: Path, api: Api) -> None:
    path = f"/{api.upload(b'stored before').json()['id']}/download"
    (tmp_path / "storage").rename(tmp_path / "elsewhere")
    for name, call in EVERY_CALL.items():
        assert reason_of(call, local_store) is OutageReason.NOT_MOUNTED, name
    assert api.upload(b"content").status_code == 503
    assert api.get(path).status_code == 503
    assert not (tmp_path / "storage").exists()
    (tmp_path / "elsewhere").rename(tmp_path / "storage")
    assert b"".join(api.get(path)) == b"stored before"
    assert api.upload(b"content").status_code == 201


def test_an_empty_folder_in_place_of_a_volume_is_an_outage(disk: Path, api: Api) -> None:
    path = f"/{api.upload(b'on the volume').json()['id']}/download"
    copy = disk.parent / "copy"
    shutil.copytree(disk, copy)
    unmount(disk)
    store = object_store()
    for name, call in EVERY_CALL.items():
        assert reason_of(call, store) is OutageReason.NOT_MOUNTED, name
    assert health._storage() == {"storage": "down", "storage_reason": "not_mounted"}
    assert (api.upload(b"content").status_code, api.get(path).status_code) == (503, 503)
    assert list(disk.iterdir()) == []
    mount(disk)
    shutil.copytree(copy, disk, dirs_exist_ok=True)
    assert health._storage() == {"storage": "ok"}
    assert b"".join(api.get(path)) == b"on the volume"


def test_a_read_only_disk_is_told_and_still_read(disk: Path, api: Api) -> None:
    path = f"/{api.upload(b'stored before').json()['id']}/download"
    remount(disk, "ro")
    assert health._storage() == {"storage": "down", "storage_reason": "read_only"}
    assert reason_of(EVERY_CALL["put"], object_store()) is OutageReason.READ_ONLY
    assert api.upload(b"content").status_code == 503
    assert b"".join(api.get(path)) == b"stored before"
    remount(disk, "rw")
    assert api.upload(b"content").status_code == 201


def test_a_full_disk_is_507_leaves_no_half_file_and_harms_nothing(disk: Path, api: Api) -> None:
    first = os.urandom(2**20)
    path = f"/{api.upload(first).json()['id']}/download"
    before = set(disk.rglob("*"))
    answer = api.upload(os.urandom(3 * 2**20))
    assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")
    assert set(disk.rglob("*")) == before
    assert health._storage() == {"storage": "ok"}, "what is there can be read: no reason to leave the service"
    assert b"".join(api.get(path)) == first
    assert api.upload(b"small").status_code == 201
    assert len(work_off()) == 2


def test_a_full_folder_for_temporary_files_is_507_and_a_job_waits_for_room(
    api: Api, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    path = f"/{api.upload(b'a few words ' * 20_000, 'text.txt').json()['id']}"
    (small := tmp_path / "small").mkdir()
    mount(small, "64k")
    try:
        settings.FILE_UPLOAD_TEMP_DIR = str(small)
        monkeypatch.setattr("tempfile.tempdir", str(small))
        answer = api.upload(bytes(200_000))
        assert (answer.status_code, answer.json()["code"]) == (507, "storage_full")
        [job] = work_off()
        assert job.status == "pending"
        assert "No space left" in job.last_error
    finally:
        monkeypatch.undo()
        unmount(small)
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    work_off()
    assert api.get(path).json()["status"] == "ready"


def test_a_disk_that_hangs_keeps_nobody_for_ever(
    local_store: ObjectStore, api: Api, tmp_path: Path, settings: Any
) -> None:
    path = f"/{api.upload(b'content').json()['id']}/download"
    settings.DMS_STORAGE_TIMEOUT = timedelta(seconds=1)
    [file] = (tmp_path / "storage").rglob("original")
    file.unlink()
    os.mkfifo(file)  # opening it waits for somebody who writes
    with Stopwatch() as watch:
        assert api.get(path).status_code == 503
        assert watch.seconds < 3
    os.close(os.open(file, os.O_WRONLY))
