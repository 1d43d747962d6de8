"""The HTTP API, from the upload to the trash."""

import hashlib
import json
from io import BytesIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from documents import listing
from documents.models import AuditEntry, Document, DocumentVersion
from documents.processing.limits import Limits
from documents.storage import ObjectStore
from jobqueue.models import ProcessingJob
from tests.documents import files
from tests.documents.http import Api
from tests.documents.work import work_off


def test_an_upload_answers_with_the_document_and_its_job(api: Api, tenant: str, local_store: ObjectStore) -> None:
    content = files.ten_pages()
    answer = api.upload(content, "Bericht 2026.pdf", title="Jahresbericht")
    assert answer.status_code == 201
    body = answer.json()
    assert body["title"] == "Jahresbericht"
    assert body["file_name"] == "Bericht 2026.pdf"
    assert body["sha256"] == hashlib.sha256(content).hexdigest()
    assert body["size_bytes"] == len(content)
    assert body["mime_type"] == "application/pdf"
    assert (body["status"], body["steps"], body["page_count"]) == ("processing", [], None)
    assert (body["duplicate"], body["restored"]) == (False, False)
    job = ProcessingJob.objects.get(pk=body["job_id"])
    assert (job.job_type, job.payload) == ("documents.process", {"document_id": body["id"], "version": 1})
    assert list(local_store.list_keys()) == [f"{tenant}/{body['id']}/1/original"]
    assert [entry.action for entry in AuditEntry.objects.all()] == ["uploaded"]


@pytest.mark.parametrize(
    ("name", "title"), [("brief.txt", "brief"), ("Rechnung Nr. 5", "Rechnung Nr. 5"), (".profile", ".profile")]
)
def test_without_a_title_the_file_name_without_its_ending_is_the_title(api: Api, name: str, title: str) -> None:
    assert api.upload(b"text", name).json()["title"] == title


def test_a_processed_document_is_ready_and_found(api: Api) -> None:
    document_id = api.upload(files.ten_pages(), "zehn.pdf").json()["id"]
    [job] = work_off()
    assert (job.status, job.result) == ("succeeded", {"status": "ready", "pages": 10})
    body = api.get(f"/{document_id}").json()
    assert (body["status"], body["page_count"]) == ("ready", 10)
    assert [(step["name"], step["status"]) for step in body["steps"]] == [
        ("inspect", "done"),
        ("text", "done"),
        ("thumbnail", "done"),
        ("index", "done"),
    ]
    [hit] = api.search("wort7").json()["items"]
    assert (hit["id"], hit["page"], hit["snippet"]) == (document_id, 7, "seite7 <mark>wort7</mark>")


@pytest.mark.parametrize(
    ("content", "status", "steps"),
    [
        (
            files.sample("encryption-r6-user-password.pdf"),
            "failed",
            [("failed", "locked"), *[("skipped", "locked")] * 3],
        ),
        (files.INVALID_PDF, "failed", [("failed", "damaged"), *[("skipped", "damaged")] * 3]),
        (b"{\\rtf1 words}", "failed", [("skipped", "unsupported")] * 4),
        (
            files.sample("typewriter.png"),
            "ready",
            [("done", ""), ("skipped", "no_text"), ("done", ""), ("skipped", "no_text")],
        ),
        (files.sample("typewriter.png")[:9000], "failed", [("failed", "damaged"), *[("skipped", "damaged")] * 3]),
        (
            files.sample("imagemagick-CCITTFaxDecode.pdf"),
            "ready",
            [("done", ""), ("done", "no_text"), ("done", ""), ("skipped", "no_text")],
        ),
        (
            "Grüße aus Köln".encode("cp1252"),
            "ready",
            [("done", ""), ("done", ""), ("skipped", "unsupported"), ("done", "")],
        ),
        (
            files.ten_pages(change=files.with_broken_page),
            "ready",
            [("done", ""), ("done", "damaged"), ("done", ""), ("done", "")],
        ),
    ],
    ids=["locked", "damaged", "unsupported", "picture", "damaged picture", "scan", "text", "one bad page"],
)
def test_whatever_a_document_is_like_its_job_succeeds_and_its_original_stays(
    api: Api, content: bytes, status: str, steps: list[tuple[str, str]]
) -> None:
    document_id = api.upload(content).json()["id"]
    [job] = work_off()
    assert (job.status, job.attempts) == ("succeeded", 1)
    body = api.get(f"/{document_id}").json()
    assert body["status"] == status
    assert [(step["status"], step["reason"]) for step in body["steps"]] == steps
    assert b"".join(api.get(f"/{document_id}/download")) == content


def test_an_empty_file_is_refused(api: Api, local_store: ObjectStore) -> None:
    answer = api.upload(b"", "leer.pdf")
    assert (answer.status_code, answer.json()) == (400, {"detail": "The file is empty.", "code": "empty_file"})
    assert list(local_store.list_keys()) == []


def test_a_program_is_refused_with_its_type(api: Api, local_store: ObjectStore) -> None:
    answer = api.upload(b"\x7fELF\x02\x01\x01" + bytes(100), "rechnung.pdf")
    assert answer.status_code == 415
    assert "application/x-executable" in answer.json()["detail"]
    assert not Document.objects.exists()
    assert list(local_store.list_keys()) == []


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_that_is_too_large_is_refused_with_the_limit(
    api: Api, settings: Any, declared: bool, local_store: ObjectStore
) -> None:
    settings.DMS_MAX_UPLOAD_BYTES = 1000
    content = b"x" * (3 * 2**20 if declared else 1001)
    answer = api.upload(content)
    assert answer.status_code == 413
    assert "1000 bytes" in answer.json()["detail"]
    assert not Document.objects.exists()
    assert list(local_store.list_keys()) == []


def test_a_file_just_within_the_limit_is_taken(api: Api, settings: Any) -> None:
    settings.DMS_MAX_UPLOAD_BYTES = 1000
    assert api.upload(b"x" * 1000).status_code == 201


def test_a_request_without_a_file_is_refused(api: Api) -> None:
    assert api.client.post("/api/documents", {"title": "x"}).status_code == 422


def test_the_same_bytes_again_are_the_same_document(api: Api, local_store: ObjectStore) -> None:
    first = api.upload(b"same", "one.txt")
    again = api.upload(b"same", "two.txt", title="other")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json() | {"duplicate": True}
    assert ProcessingJob.objects.count() == 1
    assert len(list(local_store.list_keys())) == 1


def test_bytes_that_lie_in_the_trash_are_restored(api: Api) -> None:
    document_id = api.upload(b"same").json()["id"]
    work_off()
    api.client.delete(f"/api/documents/{document_id}")
    again = api.upload(b"same").json()
    assert (again["id"], again["duplicate"], again["restored"]) == (document_id, True, True)
    assert api.get(f"/{document_id}").status_code == 200
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", flat=True))
    assert actions == ["uploaded", "trashed", "uploaded_again", "restored"]


def test_the_list_shows_the_newest_first_by_pages(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE_SIZE", 3)
    for number in range(5):
        api.upload(b"%d" % number, f"{number}.txt")
    first, second = (api.get(query_params={"page": page}).json() for page in (1, 2))
    assert [item["title"] for item in first["items"]] == ["4", "3", "2"]
    assert [item["title"] for item in second["items"]] == ["1", "0"]
    assert (first["count"], second["count"]) == (5, 5)
    behind = api.get(query_params={"page": 3}).json()
    assert (behind["items"], behind["count"]) == ([], 5)


def test_the_list_can_be_narrowed_to_a_status(api: Api) -> None:
    api.upload(b"done")
    work_off()
    api.upload(b"not yet")
    for status in ("ready", "processing"):
        assert [item["status"] for item in api.get(query_params={"status": status}).json()["items"]] == [status]
    assert api.get(query_params={"status": "nonsense"}).status_code == 422


def test_the_text_is_sent_page_by_page(api: Api) -> None:
    document_id = api.upload(files.pdf("eins", "zwei")).json()["id"]
    assert api.get(f"/{document_id}/text").status_code == 404
    work_off()
    answer = api.get(f"/{document_id}/text")
    assert (answer.content, answer["Content-Type"]) == (b"eins\x0czwei", "text/plain; charset=utf-8")


def test_a_document_without_text_says_why(api: Api) -> None:
    document_id = api.upload(files.sample("encryption-r6-user-password.pdf")).json()["id"]
    work_off()
    answer = api.get(f"/{document_id}/text")
    assert answer.status_code == 404
    assert "locked" in answer.json()["detail"]


def test_the_title_can_be_changed_and_the_search_knows(api: Api) -> None:
    document_id = api.upload(b"text", "alt.txt").json()["id"]
    answer = api.client.patch(
        f"/api/documents/{document_id}", json.dumps({"title": "  Neuer\u202e Vertrag "}), "application/json"
    )
    assert answer.json()["title"] == "Neuer Vertrag"
    assert [item["id"] for item in api.search("Verträge").json()["items"]] == [document_id]
    entry = AuditEntry.objects.get(action="renamed")
    assert entry.details == {"old": "alt", "new": "Neuer Vertrag"}


@pytest.mark.parametrize("title", ["", " ", "\u202e", "x" * 256, None, 5])
def test_a_title_nobody_could_read_is_refused(api: Api, title: object) -> None:
    document_id = api.upload(b"text").json()["id"]
    answer = api.client.patch(f"/api/documents/{document_id}", json.dumps({"title": title}), "application/json")
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize("title", [r"\u0000", r"\ud800", r"a\u0000b"])
def test_a_title_with_impossible_characters_is_no_server_error(api: Api, title: str) -> None:
    document_id = api.upload(b"text").json()["id"]
    answer = api.client.patch(f"/api/documents/{document_id}", f'{{"title": "{title}"}}', "application/json")
    assert answer.status_code in (200, 400, 422)


def test_a_deleted_document_is_gone_until_it_is_restored(api: Api) -> None:
    document_id = api.upload(b"words here").json()["id"]
    work_off()
    path = f"/api/documents/{document_id}"
    assert api.client.delete(path).status_code == 204
    assert api.client.delete(path).status_code == 404
    assert api.get(f"/{document_id}").status_code == 404
    assert api.get().json()["count"] == 0
    assert api.search("words").json()["count"] == 0
    assert api.client.post(f"{path}/restore").json()["status"] == "ready"
    assert api.search("words").json()["count"] == 1
    assert api.client.post(f"{path}/restore").status_code == 200


def test_processing_can_be_repeated_once_it_has_ended(api: Api) -> None:
    first = api.upload(b"words here").json()
    path = f"/api/documents/{first['id']}/reprocess"
    waiting = api.client.post(path)
    assert (waiting.status_code, waiting.json()["job_id"]) == (202, first["job_id"])
    work_off()
    again = api.client.post(path).json()
    assert again["status"] == "processing"
    assert again["job_id"] != first["job_id"]
    work_off()
    assert api.get(f"/{first['id']}").json()["status"] == "ready"
    assert api.search("words").json()["count"] == 1


def test_the_job_says_how_far_it_is(api: Api) -> None:
    job_id = api.upload(files.ten_pages()).json()["job_id"]
    path = f"/api/jobs/{job_id}"
    waiting = api.client.get(path).json()
    assert (waiting["status"], waiting["attempts"], waiting["max_attempts"]) == ("pending", 0, 20)
    work_off()
    done = api.client.get(path).json()
    assert (done["status"], done["attempts"], done["progress"], done["error"]) == ("succeeded", 1, 100, "")


def test_jobs_that_are_not_about_documents_are_unknown_here(api: Api) -> None:
    from jobqueue.queue import Queue

    other = Queue().enqueue("test.ok", {})
    assert api.client.get(f"/api/jobs/{other.pk}").status_code == 404
    assert api.client.get(f"/api/jobs/{10**30}").status_code == 404


def test_a_failed_attempt_is_told_in_one_line(api: Api, local_store: ObjectStore) -> None:
    body = api.upload(b"text").json()
    local_store.delete(DocumentVersion.objects.get().storage_key)
    work_off()
    job = api.client.get(f"/api/jobs/{body['job_id']}").json()
    assert job["status"] == "pending"
    assert "There is no object" in job["error"]
    assert "Traceback" not in job["error"]
    assert "\n" not in job["error"]


def test_a_document_longer_than_the_limits_keeps_its_beginning(api: Api, settings: Any) -> None:
    settings.DMS_MAX_PAGES = 2
    document_id = api.upload(files.ten_pages()).json()["id"]
    work_off()
    body = api.get(f"/{document_id}").json()
    assert body["steps"][1]["reason"] == "too_large"
    assert api.search("wort2").json()["count"] == 1
    assert api.search("wort3").json()["count"] == 0


def test_the_limits_come_from_the_settings(settings: Any) -> None:
    from datetime import timedelta

    from documents.conf import conf

    settings.DMS_PROCESSING_TIMEOUT = timedelta(minutes=1)
    settings.DMS_PROCESSING_MEMORY_BYTES = 5
    settings.DMS_MAX_PAGES = 6
    settings.DMS_MAX_TEXT_CHARACTERS = 7
    assert conf.processing_limits == Limits(60, 5, 6, 7)


def test_a_browser_uploads_with_its_session_and_its_csrf_token(tenant: str, user: User) -> None:
    browser = Client(enforce_csrf_checks=True, headers={"host": f"{tenant}.localhost"})
    browser.force_login(user)
    assert browser.post("/api/documents", {"file": BytesIO(b"forged")}).status_code == 403
    assert not Document.objects.exists()
    browser.get("/admin/login/")
    token = browser.cookies["csrftoken"].value
    answer = browser.post("/api/documents", {"file": BytesIO(b"meant")}, headers={"x-csrftoken": token})
    assert answer.status_code == 201
