"""Export and import: what comes back is what went, a damaged export is refused whole (D25, D27 as far as they go)."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from documents.models import AuditEntry, Document, DocumentVersion
from documents.storage import object_store
from documents.transfer.exporting import FILES, INDEX, SUMMARY
from documents.verification import Verified, verify
from tests.documents.http import Api
from tests.documents.work import work_off

ODD_NAME = 'Ä/..\\"<b>: Ünïcode \u202e' + "x" * 300 + ".TXT"


@pytest.fixture
def acme(db: None) -> Iterator[Api]:
    """Acme with a few documents, of which one lies in the trash."""
    with use("acme"):
        api = Api("acme", User.objects.create_user("alice"))
        first = api.upload(b"alpha of 3 May 2026", "a.txt", tags="one,two").json()["id"]
        api.upload(b"beta", ODD_NAME, title="Bäta")
        trashed = api.upload(b"gamma").json()["id"]
        work_off()
        changes = {"correspondent": "Ada", "title": "First"}
        api.client.patch(f"/api/documents/{first}", json.dumps(changes), "application/json")
        note = json.dumps({"text": "A note\nof two lines"})
        api.client.post(f"/api/documents/{first}/notes", note, "application/json")
        api.client.delete(f"/api/documents/{trashed}")
        yield api


def said(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    call_command("documents", *map(str, arguments))
    return capsys.readouterr().out


def everything() -> list[dict[str, Any]]:
    """Return all that people know of the documents of the active tenant."""
    return [
        {
            **{
                name: getattr(document, name)
                for name in ("pk", "title", "created_at", "deleted_at", "document_date", "date_is_guessed")
            },
            "correspondent": str(document.correspondent or ""),
            "tags": sorted(document.tags.values_list("name", flat=True)),
            "notes": list(document.notes.order_by("pk").values_list("text", "author_name", "created_at")),
            "versions": list(document.versions.values_list("number", "sha256", "size_bytes", "mime_type", "file_name")),
            "history": list(
                AuditEntry.objects.filter(document_id=document.pk)
                .exclude(action="imported")
                .order_by("pk")
                .values_list("at", "actor_name", "action", "details")
            ),
        }
        for document in Document.objects.order_by("pk")
    ]


def test_what_comes_back_is_what_went(acme: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "export"
    assert "acme: documents exported to" in said(capsys, "export", folder, "--tenant", "acme")
    before = everything()
    assert "globex: documents imported: 3." in said(capsys, "import", folder, "--tenant", "globex")
    with use("globex"):
        assert everything() == before
        assert len(before) == 3
        assert {entry.details["tenant"] for entry in AuditEntry.objects.filter(action="imported")} == {"acme"}
        for version in DocumentVersion.objects.all():
            assert version.storage_key.startswith("globex/")
            object_store().open_whole(version.storage_key, size_bytes=version.size_bytes, sha256=version.sha256)
        work_off()
        found = Api("globex", User.objects.create_user("bob")).search("alpha").json()["items"]
        assert [(item["title"], item["status"]) for item in found] == [("First", "ready")]
    assert [list(verify(name, Verified())) for name in ("acme", "globex")] == [[], []]


def test_an_import_may_be_repeated(acme: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "export"
    said(capsys, "export", folder, "--tenant", "acme")
    said(capsys, "import", folder, "--tenant", "globex")
    again = said(capsys, "import", folder, "--tenant", "globex")
    assert "imported: 0; left alone, since they are there: 3" in again
    assert "left alone, since they are there: 3" in said(capsys, "import", folder, "--tenant", "acme")
    assert Document.objects.count() == 3


def test_a_document_with_the_same_bytes_stays_as_it_is(
    acme: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "export"
    said(capsys, "export", folder, "--tenant", "acme")
    with use("globex"):
        own = Api("globex", User.objects.create_user("bob")).upload(b"beta", title="Mine").json()["id"]
    assert "imported: 2; left alone, since they are there: 1" in said(capsys, "import", folder, "--tenant", "globex")
    with use("globex"):
        assert Document.objects.get(pk=own).title == "Mine"


def test_the_files_have_names_that_people_recognise_and_any_disk_takes(
    acme: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "export", tmp_path / "export", "--tenant", "acme")
    names = sorted(path.name for path in (tmp_path / "export" / FILES).glob("*/*"))
    assert "a.txt" in names
    assert all(len(name.encode()) < 200 for name in names)
    assert not any(set(name) & set('<>:"/\\|?*') for name in names)


def _an_original(folder: Path) -> Path:
    return sorted((folder / FILES).glob("*/*"))[0]


def _lead_out(folder: Path) -> Path:
    lines = (folder / INDEX).read_text().splitlines()
    entry = json.loads(lines[0])
    entry["versions"][0]["file"] = f"{FILES}/../../secret"
    return _rewrite(folder, [json.dumps(entry), *lines[1:]])


def _rewrite(folder: Path, lines: list[str]) -> Path:
    """Change the index, and let the summary believe it."""
    import hashlib

    text = "".join(f"{line}\n" for line in lines)
    (folder / INDEX).write_text(text)
    summary = json.loads((folder / SUMMARY).read_text())
    summary["sha256_of_documents"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / SUMMARY).write_text(json.dumps(summary))
    return folder / INDEX


def _link(folder: Path) -> Path:
    path = _an_original(folder)
    (folder.parent / "secret").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(folder.parent / "secret")
    return path


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def _removed(path: Path) -> Path:
    path.unlink()
    return path


DAMAGES: dict[str, Callable[[Path], Path]] = {
    "an original is cut": lambda folder: _written(_an_original(folder), _an_original(folder).read_bytes()[:-1]),
    "a byte of an original is another": lambda folder: _written(
        _an_original(folder), _an_original(folder).read_bytes()[:-1] + b"?"
    ),
    "an original is missing": lambda folder: _removed(_an_original(folder)),
    "an original is a link": _link,
    "a path leads out": lambda folder: (_lead_out(folder), Path("secret"))[1],
    "the index is cut": lambda folder: _written(folder / INDEX, (folder / INDEX).read_bytes()[:-9]),
    "the index is missing": lambda folder: _removed(folder / INDEX),
    "the index has something else": lambda folder: _rewrite(folder, ["[]"]),
    "the summary is missing": lambda folder: _removed(folder / SUMMARY),
    "the summary is no JSON": lambda folder: _written(folder / SUMMARY, b"x"),
    "the format is of the future": lambda folder: _written(folder / SUMMARY, b'{"format": 99}'),
}


def test_a_damaged_export_is_refused_whole_and_names_the_file(
    acme: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = tmp_path / "whole"
    said(capsys, "export", whole, "--tenant", "acme")
    for name, damage in DAMAGES.items():
        folder = tmp_path / name.replace(" ", "-")
        shutil.copytree(whole, folder)
        damaged = damage(folder)
        with pytest.raises(CommandError) as refusal:
            call_command("documents", "import", str(folder), "--tenant", "globex")
        assert damaged.name in str(refusal.value), name
        assert "Nothing was imported." in str(refusal.value)
        with use("globex"):
            assert not Document.objects.exists(), name


def test_an_export_goes_to_an_empty_folder_of_a_tenant_that_exists(acme: Api, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("x")
    with pytest.raises(CommandError, match="is not empty"):
        call_command("documents", "export", str(tmp_path / "full"), "--tenant", "acme")
    with pytest.raises(CommandError, match="There is no tenant nobody"):
        call_command("documents", "export", str(tmp_path / "new"), "--tenant", "nobody")
    with pytest.raises(CommandError, match="There is no tenant public"):
        call_command("documents", "export", str(tmp_path / "new"), "--tenant", "public")


def test_an_export_that_misses_an_original_names_it_and_is_not_whole(acme: Api, tmp_path: Path) -> None:
    key = DocumentVersion.objects.first().storage_key  # type: ignore[union-attr]
    object_store().delete(key)
    with pytest.raises(CommandError, match=key):
        call_command("documents", "export", str(tmp_path / "export"), "--tenant", "acme")
    assert not (tmp_path / "export" / SUMMARY).exists()
