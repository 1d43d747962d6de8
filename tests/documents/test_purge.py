"""Deleting for good: rows and objects go, the history says so, and nothing else is touched."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from documents import purge
from documents.exceptions import DocumentNotFound
from documents.models import AuditEntry, Document, DocumentPage, DocumentVersion, Tag
from documents.storage import ObjectStore, object_store
from documents.verification import Verified, verify
from tests.documents.http import Api
from tests.documents.work import work_off


def put_into_the_trash(api: Api, content: bytes, days: float) -> str:
    document_id: str = api.upload(content, tags="tag").json()["id"]
    work_off()
    api.client.delete(f"/api/documents/{document_id}")
    Document.objects.filter(pk=document_id).update(deleted_at=timezone.now() - timedelta(days=days))
    return document_id


def empty(capsys: pytest.CaptureFixture[str], tenant: str, *arguments: str) -> str:
    call_command("documents", "empty-trash", "--tenant", tenant, *arguments)
    return capsys.readouterr().out


def test_what_has_lain_in_the_trash_for_long_is_deleted_with_its_objects(
    api: Api, tenant: str, capsys: pytest.CaptureFixture[str], django_capture_on_commit_callbacks: Any
) -> None:
    old = put_into_the_trash(api, b"old", days=31)
    young = put_into_the_trash(api, b"young", days=29)
    kept = api.upload(b"kept").json()["id"]
    key = DocumentVersion.objects.get(document=old).storage_key

    assert f"trashed     {old}  file" in empty(capsys, tenant, "--dry-run")
    assert Document.objects.count() == 3
    with django_capture_on_commit_callbacks(execute=True):
        assert "in all: documents deleted: 1" in empty(capsys, tenant)

    assert {str(pk) for pk in Document.objects.values_list("pk", flat=True)} == {young, kept}
    assert key not in set(object_store().list_keys())
    assert DocumentPage.objects.count() == 1
    assert Tag.objects.count() == 1
    entry = AuditEntry.objects.get(action="purged")
    assert (str(entry.document_id), entry.actor_name, entry.details["title"]) == (old, "", "file")
    assert list(verify(tenant, Verified())) == []


def test_the_retention_is_a_setting_and_zero_empties_the_trash(
    api: Api, tenant: str, capsys: pytest.CaptureFixture[str], settings: Any
) -> None:
    put_into_the_trash(api, b"young", days=2)
    assert "deleted: 0" in empty(capsys, tenant)
    settings.DMS_TRASH_RETENTION = timedelta(days=1)
    assert "deleted: 1" in empty(capsys, tenant)
    put_into_the_trash(api, b"younger", days=0)
    assert "deleted: 1" in empty(capsys, tenant, "--older-than", "0")


def test_the_same_bytes_may_be_uploaded_anew(api: Api, tenant: str, capsys: pytest.CaptureFixture[str]) -> None:
    put_into_the_trash(api, b"old", days=31)
    empty(capsys, tenant)
    again = api.upload(b"old")
    assert (again.status_code, again.json()["duplicate"]) == (201, False)


def test_what_is_not_in_the_trash_is_never_deleted(api: Api, user: User) -> None:
    document_id = api.upload(b"kept").json()["id"]
    with pytest.raises(DocumentNotFound):
        purge.purge(document_id, user)
    assert purge.purge_older_than(timedelta(0), found=lambda document: None) == 0


def test_a_job_that_finds_its_document_deleted_for_good_stops(api: Api, user: User) -> None:
    document_id = api.upload(b"words").json()["id"]
    api.client.delete(f"/api/documents/{document_id}")
    purge.purge(document_id, user)
    [job] = work_off()
    assert (job.status, job.attempts) == ("succeeded", 1)
    assert not Document.objects.exists()


def test_an_object_that_cannot_be_removed_now_is_left_to_the_collector(
    api: Api,
    user: User,
    local_store: ObjectStore,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    from documents.exceptions import StorageUnavailable

    document_id = put_into_the_trash(api, b"old", days=31)

    def fail(key: str) -> None:
        raise StorageUnavailable("away")

    monkeypatch.setattr(type(local_store), "delete", lambda self, key: fail(key))
    with django_capture_on_commit_callbacks(execute=True):
        purge.purge(document_id, user)  # type: ignore[arg-type]
    assert not Document.objects.exists()
