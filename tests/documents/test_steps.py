"""Repeating one step of the processing: it alone changes, and says by which job it was done and when."""

from typing import Any

from django.contrib.auth.models import User

from documents import originals
from documents.exceptions import StorageUnavailable
from documents.models import AuditEntry, DocumentPage, DocumentVersion
from jobqueue.models import ProcessingJob
from tests.documents import files
from tests.documents.http import Api
from tests.documents.work import work_off


def _away(version: DocumentVersion) -> None:
    raise StorageUnavailable("away")


def repeat(api: Api, document_id: str, step: str) -> Any:
    return api.client.post(f"/api/documents/{document_id}/reprocess?step={step}")


def steps_of(api: Api, document_id: str) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in api.get(f"/{document_id}").json()["steps"]}


def test_a_thumbnail_is_drawn_again_and_nothing_else_is_done(api: Api, user: User) -> None:
    document_id = api.upload(files.pdf("Wort"), "a.pdf").json()["id"]
    [first] = work_off()
    before, pages = DocumentVersion.objects.get(), list(DocumentPage.objects.values_list("pk", flat=True))
    DocumentVersion.objects.update(thumbnail_key="", thumbnail_sha256="", thumbnail_size_bytes=0)
    answer = repeat(api, document_id, "thumbnail")
    assert (answer.status_code, answer.json()["status"]) == (202, "processing")
    assert [step["name"] for step in answer.json()["steps"]] == ["inspect", "text", "index"]
    [second] = work_off()
    after = DocumentVersion.objects.get()
    assert after.thumbnail_key not in ("", before.thumbnail_key)
    assert list(DocumentPage.objects.values_list("pk", flat=True)) == pages
    steps = steps_of(api, document_id)
    assert {name: step["job_id"] for name, step in steps.items()} == {
        "inspect": first.pk,
        "text": first.pk,
        "thumbnail": second.pk,
        "index": first.pk,
    }
    assert all(step["ended_at"] for step in steps.values())
    assert api.get(f"/{document_id}").json()["status"] == "ready"
    assert AuditEntry.objects.latest("pk").details == {"step": "thumbnail"}


def test_the_index_is_made_again_without_the_file(api: Api, monkeypatch: Any) -> None:
    document_id = api.upload(b"zeppelin", "a.txt").json()["id"]
    work_off()
    DocumentPage.objects.update(search=None)
    assert api.search("zeppelin").json()["count"] == 0
    monkeypatch.setattr(originals, "fetched", None)
    assert repeat(api, document_id, "index").status_code == 202
    work_off()
    assert api.search("zeppelin").json()["count"] == 1
    assert list(steps_of(api, document_id)) == ["inspect", "text", "thumbnail", "index"]


def test_of_a_type_that_is_not_drawn_no_thumbnail_can_be_wished_for(api: Api) -> None:
    document_id = api.upload(b"words", "a.txt").json()["id"]
    work_off()
    assert (repeat(api, document_id, "thumbnail").status_code, repeat(api, document_id, "x").status_code) == (400, 422)


def test_a_step_that_can_not_be_repeated_now_costs_nothing_of_what_is_there(api: Api, monkeypatch: Any) -> None:
    document_id = api.upload(files.pdf("Wort"), "a.pdf").json()["id"]
    work_off()
    thumbnail = DocumentVersion.objects.get().thumbnail_key
    repeat(api, document_id, "thumbnail")
    ProcessingJob.objects.filter(status="pending").update(max_attempts=1)
    monkeypatch.setattr(originals, "fetched", _away)
    assert [job.status for job in work_off()] == ["dead_letter"]
    body = api.get(f"/{document_id}").json()
    assert (body["status"], steps_of(api, document_id)["thumbnail"]["reason"]) == ("partial", "unavailable")
    assert DocumentVersion.objects.get().thumbnail_key == thumbnail
    assert api.search("Wort").json()["count"] == 1
