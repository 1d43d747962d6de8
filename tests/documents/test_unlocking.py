"""A PDF that is locked with a password is read once somebody tells it, and the password is kept nowhere (D02)."""

import json
import logging
import subprocess
from typing import Any

import pikepdf
import pytest
from django.contrib.auth.models import User
from django.db import connection

from documents import lifecycle, unlocking
from documents.models import AuditEntry, DocumentVersion
from documents.objects import objects_of, owned_among
from documents.storage import ObjectStore
from tests.documents import files
from tests.documents.http import Api
from tests.documents.work import work_off

PASSWORD = "Schlüssel-7391"


def locked_pdf(password: str = PASSWORD, revision: int = 6) -> bytes:
    encryption = pikepdf.Encryption(user=password, owner="other", R=revision)  # type: ignore[arg-type]  # 2 to 6
    return files.pdf("ein geheimes Wort", encryption=encryption)


def unlock(api: Api, document_id: str, password: str) -> Any:
    body = json.dumps({"password": password})
    return api.client.post(f"/api/documents/{document_id}/unlock", body, "application/json")


def everything_kept() -> str:
    """Return everything that the tenant's schema holds."""
    rows: list[str] = []
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        assert "processing_jobs" in tables
        for table in tables:
            cursor.execute(f'SELECT array_agg(t::text) FROM "{table}" AS t')
            rows.extend(cursor.fetchone()[0] or [])
    return " ".join(rows)


def test_a_locked_pdf_is_read_once_its_password_is_told_which_is_kept_nowhere(
    api: Api, local_store: ObjectStore, caplog: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    started: list[str] = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kw: started.append(f"{args} {kw}") or popen(*args, **kw))
    original = locked_pdf()
    document_id = api.upload(original, "locked.pdf").json()["id"]
    work_off()
    before = set(local_store.list_keys())
    refused = unlock(api, document_id, "Schluessel")
    assert (refused.status_code, refused.json()["code"]) == (400, "wrong_password")
    assert set(local_store.list_keys()) == before

    answer = unlock(api, document_id, PASSWORD)
    assert (answer.status_code, answer.json()["status"]) == (202, "processing")
    work_off()
    body = api.get(f"/{document_id}").json()
    assert (body["status"], body["page_count"]) == ("ready", 1)
    assert [hit["id"] for hit in api.search("geheimes").json()["items"]] == [document_id]
    assert b"".join(api.get(f"/{document_id}/download").streaming_content) == original
    version = DocumentVersion.objects.get()
    keys = {owned.key for owned in objects_of(version)}
    assert len(keys) == 3
    assert owned_among(keys) == set(local_store.list_keys()) == keys
    assert [entry.action for entry in AuditEntry.objects.order_by("id")] == ["uploaded", "unlocked"]
    assert PASSWORD not in everything_kept() + caplog.text + " ".join(started)
    again = unlock(api, document_id, PASSWORD)
    assert (again.status_code, again.json()["code"]) == (409, "not_locked")


def test_once_unlocked_it_is_read_again_without_the_password(api: Api, user: User) -> None:
    """Here with one as old programs wrote it: in Latin-1."""
    document_id = api.upload(locked_pdf("Müller", revision=4), "old.pdf").json()["id"]
    work_off()
    assert unlock(api, document_id, "Müller").status_code == 202
    work_off()
    lifecycle.reprocess(document_id, user)  # type: ignore[arg-type]  # text does
    work_off()
    assert api.get(f"/{document_id}").json()["status"] == "ready"


def test_what_is_not_locked_or_no_pdf_takes_no_password(api: Api) -> None:
    document_id = api.upload(b"plain text", "a.txt").json()["id"]
    work_off()
    assert unlock(api, document_id, "x").status_code == 409
    assert unlock(api, document_id, "").status_code == 422


def test_a_copy_that_came_too_late_is_removed(
    api: Api, user: User, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = api.upload(locked_pdf(), "locked.pdf").json()["id"]
    work_off()
    keep = unlocking._keep

    def meanwhile(*args: Any) -> Any:
        lifecycle.reprocess(document_id, user)  # type: ignore[arg-type]  # text does
        return keep(*args)

    monkeypatch.setattr(unlocking, "_keep", meanwhile)
    assert unlock(api, document_id, PASSWORD).status_code == 202
    assert [owned.key for owned in objects_of(DocumentVersion.objects.get())] == list(local_store.list_keys())
