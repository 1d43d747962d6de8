"""What the database itself refuses, what the admin shows, and what the checks say."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.test import Client

from documents import checks
from documents.models import AuditEntry, Document, DocumentPage, DocumentVersion
from documents.processing.findings import Step, StepStatus
from documents.states import status_after
from tests.documents.http import Api

DONE, FAILED, SKIPPED = StepStatus.DONE, StepStatus.FAILED, StepStatus.SKIPPED


def version_of(document: Document, **changes: Any) -> DocumentVersion:
    fields = {
        "number": 1,
        "sha256": uuid4().hex * 2,
        "size_bytes": 1,
        "mime_type": "text/plain",
        "file_name": "f",
        "storage_key": uuid4().hex,
    }
    return DocumentVersion.objects.create(document=document, **fields | changes)


def new_document() -> Document:
    return Document.objects.create(title="title")


def two_pages_of_one_number() -> None:
    version = version_of(new_document())
    for _ in range(2):
        DocumentPage.objects.create(version=version, number=1, text="")


def two_versions(**changes: Any) -> None:
    document = new_document()
    version_of(document)
    version_of(document, **changes)


def two_documents(**changes: Any) -> None:
    for _ in range(2):
        version_of(new_document(), **changes)


THUMBNAIL = {"thumbnail_key": "key", "thumbnail_sha256": "a" * 64, "thumbnail_size_bytes": 1}
IMPOSSIBLE = {
    "document_status_is_known": lambda: Document.objects.create(title="x", status="lost"),
    "document_title_is_not_empty": lambda: Document.objects.create(title=""),
    "version_is_not_empty": lambda: version_of(new_document(), size_bytes=0),
    "sha256_is_hexadecimal": lambda: version_of(new_document(), sha256="x" * 64),
    "version_number_is_positive": lambda: version_of(new_document(), number=0),
    "current_original_is_unique": lambda: two_documents(sha256="a" * 64),
    "object_belongs_to_one_version": lambda: two_documents(storage_key="key"),
    "thumbnail_belongs_to_one_version": lambda: two_documents(**THUMBNAIL),
    "thumbnail_is_described": lambda: version_of(new_document(), thumbnail_key="key"),
    "version_number_is_unique_in_document": lambda: two_versions(is_current=False),
    "document_has_one_current_version": lambda: two_versions(number=2),
    "page_number_is_unique_in_version": two_pages_of_one_number,
    "audit_action_is_known": lambda: AuditEntry.objects.create(document_id=uuid4(), action="forged"),
}


@pytest.mark.parametrize("constraint", IMPOSSIBLE)
def test_the_database_refuses_what_cannot_be(tenant: str, constraint: str) -> None:
    with pytest.raises(IntegrityError, match=constraint):
        IMPOSSIBLE[constraint]()


def test_the_same_bytes_may_be_in_an_older_version(tenant: str) -> None:
    version_of(Document.objects.create(title="x"), sha256="a" * 64, is_current=False)
    version_of(Document.objects.create(title="y"), sha256="a" * 64)


@pytest.mark.parametrize(
    "change",
    [lambda: AuditEntry.objects.update(actor_name="somebody else"), lambda: AuditEntry.objects.all().delete()],
    ids=["update", "delete"],
)
def test_an_audit_entry_is_never_changed_or_deleted(tenant: str, change: Any) -> None:
    AuditEntry.objects.create(document_id=uuid4(), action="uploaded")
    with pytest.raises(DatabaseError, match="never changed or deleted"), transaction.atomic():
        change()
    assert AuditEntry.objects.get().actor_name == ""


def test_a_user_can_be_deleted_and_what_they_did_is_still_known(api: Api, user: User) -> None:
    api.upload(b"words")
    user.delete()
    assert Document.objects.get().created_by is None
    assert AuditEntry.objects.get().actor_name == "alice"


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([DONE, DONE, DONE], "ready"),
        ([DONE, DONE, SKIPPED], "ready"),
        ([DONE, FAILED, SKIPPED], "partial"),
        ([FAILED, SKIPPED, SKIPPED], "failed"),
        ([SKIPPED, SKIPPED, SKIPPED], "failed"),
        ([DONE, SKIPPED, SKIPPED], "ready"),
    ],
)
def test_the_status_follows_from_the_steps(statuses: list[StepStatus], expected: str) -> None:
    assert status_after([Step("step", status) for status in statuses]) == expected


def test_the_migrations_of_documents_can_be_taken_back_and_made_again(committed_db: None) -> None:
    call_command("migrate", "documents", "zero", verbosity=0)
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_ts_config WHERE cfgname LIKE 'dms%%' UNION ALL "
                "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'documents%%' UNION ALL "
                "SELECT count(*) FROM pg_proc WHERE proname = 'refuse_to_change_the_audit'"
            )
            assert cursor.fetchall() == [(0,), (0,), (0,)]
    finally:
        call_command("migrate", "documents", verbosity=0)


def test_the_admin_shows_documents_and_lets_nobody_change_them(api: Api, tenant: str) -> None:
    document_id = api.upload(b"words", "name.txt").json()["id"]
    browser = Client(headers={"host": f"{tenant}.localhost"})
    browser.force_login(User.objects.create_superuser("boss"))
    assert b"name" in browser.get("/admin/documents/document/").content
    page = browser.get(f"/admin/documents/document/{document_id}/change/")
    assert page.status_code == 200
    assert b'name="_save"' not in page.content
    assert browser.get("/admin/documents/document/?q=name").status_code == 200
    assert browser.get("/admin/documents/auditentry/?q=alice").status_code == 200
    entry = AuditEntry.objects.get()
    assert browser.get(f"/admin/documents/auditentry/{entry.pk}/change/").status_code == 200
    for path in (f"document/{document_id}/delete/", "document/add/", f"auditentry/{entry.pk}/delete/"):
        assert browser.post(f"/admin/documents/{path}", {"post": "yes"}).status_code == 403


def test_the_project_as_it_is_passes_the_checks() -> None:
    assert checks.check_storage() == checks.check_upload_handler() == checks.check_limits() == []


@pytest.mark.parametrize(
    ("change", "check", "expected"),
    [
        ({"STORAGES": {}}, checks.check_storage, "documents.E001"),
        (
            {"STORAGES": {"documents": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}},
            checks.check_storage,
            "documents.E002",
        ),
        (
            {"FILE_UPLOAD_HANDLERS": ["django.core.files.uploadhandler.MemoryFileUploadHandler"]},
            checks.check_upload_handler,
            "documents.E003",
        ),
        ({"DMS_MAX_UPLOAD_BYTES": 0}, checks.check_limits, "documents.E004"),
    ],
)
def test_a_setting_that_would_lose_documents_is_told_at_the_start(
    settings: Any, change: dict[str, Any], check: Any, expected: str
) -> None:
    for name, value in change.items():
        setattr(settings, name, value)
    assert [message.id for message in check()] == [expected]
