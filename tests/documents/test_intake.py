"""What a tenant takes in: its own limits, what becomes of the same bytes, endings that fit, and whole folders."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from documents import ingest, intake
from documents.models import AuditEntry, Document, DocumentVersion, IntakeRules
from documents.names import fitting_name
from documents.processing.media_types import DOCX, PDF, TEXT, UNKNOWN
from documents.storage import ObjectStore
from tests.documents import files
from tests.documents.command import documents
from tests.documents.http import Api


def make(**rules: Any) -> None:
    IntakeRules.objects.create(**rules)


def test_a_tenants_limits_hold_within_those_of_all(api: Api, local_store: ObjectStore, settings: Any) -> None:
    make(max_file_bytes=1000, max_total_bytes=1500, accepted_types=["text/*", PDF])
    assert api.upload(b"a" * 1000, "a.txt").status_code == 201
    refused = [api.upload(b"b" * 1001), api.upload(bytes(100)), api.upload(b"c" * 501, "c.txt")]
    codes = [(answer.status_code, answer.json()["code"]) for answer in refused]
    assert codes == [(413, "file_too_large"), (415, "type_not_accepted"), (413, "tenant_full")]
    assert len(list(local_store.list_keys())) == 1
    assert api.upload(b"d" * 500, "d.txt").status_code == 201
    settings.DMS_MAX_UPLOAD_BYTES = 10
    assert api.upload(b"e" * 11, "e.txt").status_code == 413


def test_rules_are_those_of_one_tenant(api: Api, tenant: str) -> None:
    make(max_file_bytes=1)
    with use("globex" if tenant == "acme" else "acme"):
        assert intake.rules().max_file_bytes is None
    with use("public"):
        assert intake.max_file_bytes() > 1


def test_two_uploads_at_a_time_find_room_one_after_the_other(api: Api, user: User, monkeypatch: Any) -> None:
    """The second is checked when the first is there, though both had room when they came."""
    make(max_total_bytes=10)
    check = intake.check

    def meanwhile(*args: Any) -> None:
        check(*args)
        monkeypatch.setattr(intake, "check", check)
        assert api.upload(b"first!", "1.txt").status_code == 201

    monkeypatch.setattr(intake, "check", meanwhile)
    assert api.upload(b"second", "2.txt").json()["code"] == "tenant_full"
    assert intake.used_bytes() == 6


def test_the_same_bytes_are_refused_where_that_is_the_rule(api: Api, local_store: ObjectStore) -> None:
    make(duplicates="refuse")
    first = api.upload(b"bytes", "a.txt").json()["id"]
    answer = api.upload(b"bytes", "b.txt")
    assert (answer.status_code, answer.json()["code"], answer.json()["document_id"]) == (409, "duplicate", first)
    api.client.delete(f"/api/documents/{first}")
    assert api.upload(b"bytes", "b.txt").status_code == 409
    assert (Document.objects.count(), len(list(local_store.list_keys()))) == (1, 1)


def test_the_same_bytes_are_another_document_where_that_is_the_rule(api: Api) -> None:
    make(duplicates="allow")
    ids = {api.upload(b"bytes", name).json()["id"] for name in ("a.txt", "b.txt", "c.txt")}
    assert len(ids) == 3
    assert sorted(DocumentVersion.objects.values_list("is_copy", flat=True)) == [False, True, True]
    IntakeRules.objects.update(duplicates="link")
    linked = api.upload(b"bytes", "d.txt")
    assert (linked.status_code, linked.json()["title"]) == (200, "a")


@pytest.mark.parametrize(("rule", "documents"), [("refuse", 1), ("allow", 2)])
def test_the_rule_holds_for_the_same_bytes_at_the_same_time(
    rule: str, documents: int, api: Api, local_store: ObjectStore, monkeypatch: Any
) -> None:
    """The other one commits after this one has looked: the database decides, as it does for links."""
    make(duplicates=rule)
    known = ingest._known

    def blind(upload: Any) -> None:
        monkeypatch.setattr(ingest, "_known", known)
        assert api.upload(b"bytes", "other.txt").status_code == 201

    monkeypatch.setattr(ingest, "_known", blind)
    assert api.upload(b"bytes", "mine.txt").status_code == (409 if rule == "refuse" else 201)
    assert Document.objects.count() == len(list(local_store.list_keys())) == documents


@pytest.mark.parametrize(
    ("name", "mime_type", "fitting"),
    [
        ("letter.docx", PDF, "letter.pdf"),
        ("scan", PDF, "scan.pdf"),
        ("letter.PDF", PDF, "letter.PDF"),
        ("logo.ai", PDF, "logo.ai"),
        ("v1.2 final report", PDF, "v1.2 final report.pdf"),
        ("macros.docm", DOCX, "macros.docm"),
        ("photo.png", "image/jpeg", "photo.jpg"),
        ("photo.jpeg", "image/jpeg", "photo.jpeg"),
        ("report.pdf", TEXT, "report.txt"),
        ("Makefile", TEXT, "Makefile"),
        ("setup.cfg", TEXT, "setup.cfg"),
        ("page.txt", "text/html", "page.txt"),
        ("anything.pdf", UNKNOWN, "anything.pdf"),
        (".pdf", "image/png", ".pdf.png"),
        ("ü" * 255, PDF, "ü" * 249 + ".pdf"),
    ],
)
def test_an_ending_of_another_type_is_corrected(name: str, mime_type: str, fitting: str) -> None:
    assert fitting_name(name, mime_type) == fitting


def test_the_corrected_name_is_that_of_the_download_and_the_history_has_the_one_that_came(api: Api) -> None:
    body = api.upload(files.pdf("Wort"), "letter.docx").json()
    assert (body["title"], body["file_name"]) == ("letter", "letter.pdf")
    assert 'filename="letter.pdf"' in api.get(f"/{body['id']}/download")["Content-Disposition"]
    assert AuditEntry.objects.get().details["file_name"] == "letter.docx"


def test_a_folder_is_taken_in_as_if_it_had_been_uploaded(tenant: str, user: User, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name, content in {
        "b/2.txt": b"two",
        "a.txt": b"one",
        "b/.git/x": b"x",
        "b/run": b"\x7fELF" + bytes(60),
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / "link.txt").symlink_to("/etc/passwd")
    (folder / "empty.txt").touch()
    arguments = ("take-in", str(folder), "--tenant", tenant, "--user", user.username, "--tag", "2026")
    out, err = documents(*arguments)
    assert out.lines == [
        "refused     empty.txt  The file is empty.",
        "refused     b/run  Files of type application/x-executable are not taken in: programs are no documents.",
        f"{tenant}: files stored: 2, refused: 2. A worker makes them searchable.",
    ]
    assert (out.status, err.getvalue()) == (1, "")
    assert sorted(Document.objects.values_list("title", "tags__name")) == [("2", "2026"), ("a", "2026")]
    out, _ = documents(*arguments)
    assert out.lines[-1] == f"{tenant}: files stored: 0, known: 2, refused: 2. A worker makes them searchable."
    _, err = documents(*arguments[:4], "--user", "nobody")
    assert err.getvalue() == f"{tenant} has no user nobody. Make one in its admin."


def test_rules_are_shown_and_changed_by_command(tenant: str, user: User) -> None:
    out, _ = documents("rules", "--tenant", tenant)
    assert out.lines == [
        "one file     no limit of its own",
        "all          0 bytes used, and no limit",
        "types        all",
        "duplicates   link: the document that has them is the answer",
    ]
    limits = ("--max-file", "50M", "--max-total", "10G", "--accept", "image/*", PDF, "--duplicates", "refuse")
    out, _ = documents("rules", "--tenant", tenant, *limits)
    assert out.lines == [
        "one file     50.0 MB",
        "all          0 bytes used of 10.0 GB",
        "types        image/* application/pdf",
        "duplicates   refuse: they are refused",
    ]
    out, _ = documents("rules", "--tenant", tenant, "--max-file", "none", "--accept", "none")
    assert (out.lines[0], out.lines[2]) == ("one file     no limit of its own", "types        all")
    with pytest.raises(CommandError, match="invalid size, such as 50M or 10G, or none value: '0'"):
        call_command("documents", "rules", "--tenant", tenant, "--max-file", "0")
