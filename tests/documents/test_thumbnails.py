"""Thumbnails in store, row and HTTP: beside edits, deletions and outages, and what a browser is told (D34, D36)."""

import hashlib
import json
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from documents import jobs, results
from documents.exceptions import StorageUnavailable
from documents.models import Document, DocumentVersion
from documents.objects import objects_of, owned_among
from documents.processing.findings import Findings
from documents.storage import ObjectStore
from jobqueue.exceptions import LockLost
from jobqueue.handlers import JobContext
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.documents import files, pictures
from tests.documents.http import Api
from tests.documents.test_jobs import meanwhile
from tests.documents.work import work_off
from tests.faults.proxy import FaultyConnection

__all__ = ["meanwhile"]  # a fixture

PDF = files.pdf("words")


@pytest.fixture
def path(api: Api) -> str:
    """The address of a document that has not been processed yet."""
    return f"/api/documents/{api.upload(PDF, 'page.pdf').json()['id']}"


def thumbnails_in(store: ObjectStore) -> list[str]:
    return [key for key in store.list_keys() if "/thumbnail" in key]


def key() -> str:
    return DocumentVersion.objects.get().thumbnail_key


def steps_of(api: Api, path: str) -> dict[str, tuple[str, str]]:
    return {step["name"]: (step["status"], step["reason"]) for step in api.client.get(path).json()["steps"]}


def why_none(api: Api, path: str) -> tuple[int, str]:
    answer = api.client.get(f"{path}/thumbnail")
    return answer.status_code, answer.json()["code"]


# Sending it


@pytest.mark.parametrize("content", [PDF, pictures.lying(6)], ids=["PDF", "picture"])
def test_a_document_that_can_be_drawn_has_a_thumbnail(
    store: ObjectStore, api: Api, tenant: str, content: bytes
) -> None:
    body = api.upload(content + tenant.encode()).json()
    [job] = work_off()
    assert job.status == "succeeded"
    assert re.fullmatch(rf"{tenant}/{body['id']}/1/thumbnail-[0-9a-f]{{16}}", key())

    original, thumbnail = objects_of(DocumentVersion.objects.get())
    assert (original.key, thumbnail.key) == (f"{tenant}/{body['id']}/1/original", key())
    answer = api.get(f"/{body['id']}/thumbnail")
    assert answer.status_code == 200
    assert (len(answer.content), hashlib.sha256(answer.content).hexdigest()) == (
        thumbnail.size_bytes,
        thumbnail.sha256,
    )
    assert owned_among([key(), f"{key()}.copy"]) == {key()}
    assert answer.headers.items() >= {
        ("Content-Type", "image/webp"),
        ("Content-Length", str(store.size(key()))),
        ("ETag", f'"{thumbnail.sha256}"'),
        ("Content-Disposition", 'inline; filename="thumbnail.webp"'),
        ("Content-Security-Policy", "default-src 'none'; sandbox"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cache-Control", "private, no-cache"),
    }
    assert max(Image.open(BytesIO(answer.content)).size) == 512


def test_what_a_browser_has_already_is_not_sent_or_fetched_again(api: Api, path: str, local_store: ObjectStore) -> None:
    work_off()
    etag = api.client.get(f"{path}/thumbnail")["ETag"]
    local_store.delete(key())  # nobody will look for it
    answer = api.client.get(f"{path}/thumbnail", headers={"if-none-match": etag})
    assert (answer.status_code, answer.content, answer["ETag"]) == (304, b"", etag)
    assert answer["Cache-Control"] == "private, no-cache"


def test_head_tells_the_size_and_sends_nothing(api: Api, path: str, local_store: ObjectStore) -> None:
    work_off()
    answer = api.client.head(f"{path}/thumbnail")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["Content-Length"] == str(local_store.size(key()))


def test_a_document_that_waits_has_none_yet(api: Api, path: str) -> None:
    assert why_none(api, path) == (404, "processing")


@pytest.mark.parametrize(
    ("content", "code", "said"),
    [
        (b"plain words", "unsupported", "of this type"),
        (files.sample("par-known-paragraphs.docx"), "unsupported", "of this type"),
        (files.sample("libreoffice-writer-password.pdf"), "locked", "a password is needed"),
        (files.INVALID_PDF, "damaged", "can't be opened"),
        (pictures.encoded(pictures.quarters())[:300], "damaged", "can't be decoded"),
    ],
    ids=["text", "word", "locked", "damaged", "damaged picture"],
)
def test_where_there_is_none_the_answer_says_why(
    api: Api, content: bytes, code: str, said: str, local_store: ObjectStore
) -> None:
    path = f"/api/documents/{api.upload(content).json()['id']}"
    work_off()
    assert why_none(api, path) == (404, code)
    assert said in api.client.get(f"{path}/thumbnail").json()["detail"]
    assert thumbnails_in(local_store) == []


def test_a_document_of_before_there_were_thumbnails_gets_one_by_reprocessing(api: Api, path: str) -> None:
    version = DocumentVersion.objects.get()
    findings = Findings(1, [])
    results.write(version, findings, findings.steps(), hold=lambda: None)
    assert why_none(api, path) == (404, "not_made")
    api.client.post(f"{path}/reprocess")
    work_off()
    assert api.client.get(f"{path}/thumbnail").status_code == 200


def test_a_thumbnail_that_the_store_has_lost_is_a_clear_answer(
    api: Api, path: str, local_store: ObjectStore, caplog: pytest.LogCaptureFixture
) -> None:
    work_off()
    local_store.delete(key())
    assert why_none(api, path) == (404, "missing")
    assert "There is no object" in caplog.text
    api.client.post(f"{path}/reprocess")
    work_off()
    assert api.client.get(f"{path}/thumbnail").status_code == 200


def test_while_the_storage_is_down_thumbnails_say_so_and_the_list_works(
    connection_to_s3: FaultyConnection, api: Api, path: str
) -> None:
    work_off()
    connection_to_s3.mode = "refuse"
    assert api.client.get(f"{path}/thumbnail").status_code == 503
    assert api.get().json()["count"] == 1
    connection_to_s3.mode = "pass"
    assert api.client.get(f"{path}/thumbnail").status_code == 200


# Replacing it


def test_who_reads_the_thumbnail_before_is_not_cut_off_by_a_new_one(
    api: Api, path: str, local_store: ObjectStore
) -> None:
    work_off()
    before, shown = key(), api.client.get(f"{path}/thumbnail")
    api.client.post(f"{path}/reprocess")
    assert api.client.get(f"{path}/thumbnail").content == shown.content  # until there is the new one
    with local_store.open(before) as reader:
        work_off()
        assert b"".join(reader) == shown.content
    assert key() != before
    assert api.client.get(f"{path}/thumbnail").content == shown.content
    again = api.client.get(f"{path}/thumbnail", headers={"if-none-match": shown["ETag"]})
    assert again.status_code == 304, "the same picture need not be sent again"


def test_a_document_that_can_be_drawn_no_more_has_no_thumbnail(api: Api, settings: Any) -> None:
    path = f"/api/documents/{api.upload(pictures.encoded(pictures.quarters())).json()['id']}"
    work_off()
    assert (key() != "", api.client.get(path).json()["status"]) == (True, "ready")
    settings.DMS_MAX_PIXELS = 100
    api.client.post(f"{path}/reprocess")
    work_off()
    assert (key(), api.client.get(path).json()["status"]) == ("", "failed")
    assert why_none(api, path) == (404, "too_large")


def test_a_scan_without_a_thumbnail_is_not_searchable_because_it_has_no_text(api: Api, settings: Any) -> None:
    settings.DMS_MAX_PIXELS = 100
    path = f"/api/documents/{api.upload(files.sample('imagemagick-CCITTFaxDecode.pdf')).json()['id']}"
    work_off()
    assert steps_of(api, path) == {
        "inspect": ("done", ""),
        "text": ("done", "no_text"),
        "thumbnail": ("failed", "too_large"),
        "index": ("skipped", "no_text"),
    }
    assert api.client.get(path).json()["status"] == "partial"


def test_an_outage_during_reprocessing_costs_no_thumbnail(api: Api, path: str, local_store: ObjectStore) -> None:
    work_off()
    local_store.delete(DocumentVersion.objects.get().storage_key)
    api.client.post(f"{path}/reprocess")
    ProcessingJob.objects.filter(status="pending").update(max_attempts=1)
    work_off()
    assert steps_of(api, path)["thumbnail"] == ("skipped", "unavailable")
    assert api.client.get(f"{path}/thumbnail").status_code == 200


# Outages while it is stored


def test_a_thumbnail_that_can_not_be_stored_is_tried_again_and_costs_no_text_in_the_end(
    connection_to_s3: FaultyConnection, api: Api, path: str, meanwhile: Any
) -> None:
    meanwhile(lambda: setattr(connection_to_s3, "mode", "refuse"))
    ProcessingJob.objects.update(max_attempts=2)
    [job] = work_off()
    assert (job.status, api.client.get(path).json()["status"]) == ("pending", "processing")

    connection_to_s3.mode = "pass"
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    [job] = work_off()
    connection_to_s3.mode = "pass"
    assert (job.status, api.client.get(path).json()["status"]) == ("dead_letter", "partial")
    assert steps_of(api, path)["thumbnail"] == ("failed", "unavailable")
    assert api.client.get(f"{path}/text").content == b"words"
    assert api.search("words").json()["count"] == 1
    assert key() == ""


def test_a_full_disk_damages_nothing_and_the_next_attempt_completes_the_document(
    api: Api, path: str, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: Any) -> None:
        raise StorageUnavailable("No space left on device.")

    before = list(local_store.list_keys())
    with monkeypatch.context() as patch:
        patch.setattr(type(local_store), "_put_if_absent", full)
        [job] = work_off()
    assert (job.status, list(local_store.list_keys())) == ("pending", before)
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    [job] = work_off()
    assert (job.status, api.client.get(path).json()["status"]) == ("succeeded", "ready")


def test_an_attempt_that_died_after_it_stored_the_thumbnail_leaves_one_that_no_row_names(
    api: Api, path: str, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*args: Any) -> None:
        raise RuntimeError("between the object and the row")

    with monkeypatch.context() as patch:
        patch.setattr(results, "write", die)
        work_off()
    assert (key(), len(thumbnails_in(local_store))) == ("", 1)
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    work_off()
    assert key() in thumbnails_in(local_store)
    assert len(thumbnails_in(local_store)) == 2


# Deleted or replaced meanwhile (D36)


MEANWHILE: dict[str, Callable[[Api, str], object]] = {
    "moved to the trash": lambda api, path: api.client.delete(path),
    "removed": lambda api, path: Document.objects.all().delete(),
    "replaced by a newer version": lambda api, path: DocumentVersion.objects.update(is_current=False),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_a_document_that_goes_while_it_is_drawn_leaves_no_thumbnail(
    api: Api, path: str, meanwhile: Any, local_store: ObjectStore, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    meanwhile(lambda: MEANWHILE[what](api, path))
    [job] = work_off()
    assert (job.status, job.attempts, "stopped" in job.result) == ("succeeded", 1, True)
    assert thumbnails_in(local_store) == []
    assert not DocumentVersion.objects.exclude(thumbnail_key="").exists()
    assert not [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")]


def test_a_document_that_goes_just_before_its_thumbnail_is_written_down_leaves_none(
    api: Api, path: str, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = jobs.thumbnails.keep

    def keep_and_lose(*args: Any) -> str:
        key = keep(*args)
        api.client.delete(path)
        return key

    monkeypatch.setattr(jobs.thumbnails, "keep", keep_and_lose)
    [job] = work_off()
    assert (job.status, thumbnails_in(local_store)) == ("succeeded", [])
    monkeypatch.undo()
    api.client.post(f"{path}/restore")
    work_off()
    assert api.client.get(f"{path}/thumbnail").status_code == 200


def test_a_title_edited_while_it_is_drawn_survives(api: Api, path: str, meanwhile: Any) -> None:
    meanwhile(lambda: api.client.patch(path, json.dumps({"title": "edited"}), "application/json"))
    work_off()
    assert api.client.get(path).json()["title"] == "edited"
    assert api.client.get(f"{path}/thumbnail").status_code == 200


def test_a_run_that_has_lost_its_job_removes_its_own_thumbnail_and_leaves_the_other_runs(
    api: Api, path: str, meanwhile: Any, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine = jobs.examine

    def give_the_job_away_and_finish() -> None:
        ProcessingJob.objects.filter(status="processing").update(locked_at="2001-01-01T00:00:00Z")
        monkeypatch.setattr(jobs, "examine", examine)
        other = Queue().dequeue("other")
        Queue().complete(other, jobs.process(JobContext(other, Queue())))

    meanwhile(give_the_job_away_and_finish)
    with pytest.raises(LockLost):
        jobs.process(JobContext(Queue().dequeue("frozen"), Queue()))
    assert thumbnails_in(local_store) == [key()]
    assert api.client.get(f"{path}/thumbnail").status_code == 200


# The store


def test_a_thumbnail_is_in_the_tenants_own_folder_for_its_owner_alone(
    api: Api, path: str, tenant: str, tmp_path: Path
) -> None:
    work_off()
    file = tmp_path / "storage" / key()
    assert file.is_relative_to(tmp_path / "storage" / tenant)
    assert file.stat().st_mode & 0o077 == 0
