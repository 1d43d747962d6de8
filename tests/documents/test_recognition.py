"""Recognising text in scans and pictures: with the real programs, and around them (D07)."""

import contextlib
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pikepdf
import psutil
import pytest

from documents import archives, jobs, recognition
from documents.exceptions import StorageUnavailable
from documents.models import Document, DocumentPage, DocumentVersion
from documents.objects import objects_of
from documents.processing.child_process import ChildKilled
from documents.processing.findings import Findings, Page, Reason, Unreadable
from documents.processing.limits import Limits
from documents.processing.media_types import PDF
from documents.processing.ocr import Archive, recognised
from documents.storage import ObjectStore
from jobqueue.exceptions import LockLost
from jobqueue.handlers import JobContext
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.documents import files, scans
from tests.documents.http import Api
from tests.documents.test_confinement import ROOT, instead_of_the_child, readers_of
from tests.documents.work import run, work_off
from tests.jobqueue.waiting import eventually
from tests.need import need
from tests.stopwatch import Stopwatch

__all__ = ["instead_of_the_child"]  # a fixture

LIMITS = Limits(seconds=100)


def steps_of(body: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {step["name"]: (step["status"], step["reason"]) for step in body["steps"]}


def test_scans_are_recognised_turned_upright_and_straightened_and_pages_with_text_left_alone(tmp_path: Path) -> None:
    need("tesseract")
    sheets = [scans.sheet(turned=180), scans.sheet(turned=4)]
    path = tmp_path / "file"
    path.write_bytes(scans.with_text_first(scans.scanned_pdf(*sheets), "eigener Text"))
    seen: list[tuple[int, int]] = []
    with recognised(str(path), PDF, LIMITS, ["deu", "eng"], lambda *progress: seen.append(progress)) as archive:
        folder = archive.path.parent
        pages = [page.text for page in archive.findings.pages]
        with pikepdf.open(archive.path) as pdf:
            before = pikepdf.open(path)
            assert pdf.pages[0].Contents.read_bytes() == before.pages[0].Contents.read_bytes()
    assert pages[0] == "eigener Text"
    for page in pages[1:]:
        assert {"Wohnung", "Termin", "Damen", "regards"} <= set(page.split())
    assert seen[-1] == (3, 3)
    assert not folder.exists()


def test_a_scan_of_several_sheets_becomes_searchable_beside_its_original(
    api: Api, settings: Any, local_store: ObjectStore
) -> None:
    need("tesseract")
    settings.DMS_OCR_LANGUAGES = "deu"
    original = scans.tiff(scans.sheet(), scans.sheet("Zweites Blatt\nüber Geld"))
    document_id = api.upload(original, "Brief.tif").json()["id"]
    assert [(job.job_type, job.queue_name) for job in work_off()] == [
        ("documents.process", "default"),
        ("documents.recognise", "ocr"),
    ]
    body = api.get(f"/{document_id}").json()
    assert (body["status"], body["page_count"], body["has_archive"]) == ("ready", 2, True)
    assert steps_of(body) == dict.fromkeys(("inspect", "ocr", "thumbnail", "index"), ("done", "")) | {
        "text": ("skipped", "")
    }
    [hit] = api.search("Geld").json()["items"]
    assert (hit["id"], hit["page"]) == (document_id, 2)
    archive = api.get(f"/{document_id}/archive")
    with pikepdf.open(BytesIO(b"".join(archive.streaming_content))) as pdf:
        assert (len(pdf.pages), pdf.open_metadata().pdfa_status) == (2, "2B")
    assert archive["Content-Type"] == "application/pdf"
    assert 'attachment; filename="Brief.searchable.pdf"' in archive["Content-Disposition"]
    assert b"".join(api.get(f"/{document_id}/download").streaming_content) == original
    version = DocumentVersion.objects.get()
    assert {owned.key for owned in objects_of(version)} == set(local_store.list_keys())


# What the program may do


def recognise_now(path: Path, limits: Limits = LIMITS) -> Unreadable:
    with pytest.raises(Unreadable) as caught, recognised(str(path), PDF, limits, ["deu"], lambda *progress: None):
        pass
    return caught.value


@pytest.fixture
def pdf_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    path = tmp_path / "file.pdf"
    path.write_bytes(files.ten_pages())
    return path


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.fork()\ntime.sleep(600)", "timeout"),
        ("if os.fork(): os._exit(0)\ntime.sleep(600)", "timeout"),
        ("while True: print('x' * 1000)", "damaged"),
        ("say(Recognised())", "damaged"),
        ("", "damaged"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "damaged"),
        ("say(Refused('tool_missing', 'no data for deu'))", "tool_missing"),
    ],
    ids=[
        "hangs and forks",
        "leaves a grandchild",
        "floods",
        "writes nothing",
        "says nothing",
        "crashes",
        "lacks a part",
    ],
)
def test_whatever_it_does_nothing_is_left_of_it(
    pdf_path: Path, tmp_path: Path, instead_of_the_child: Any, program: str, reason: str
) -> None:
    instead_of_the_child(program, "ocr_child")
    # What ends by itself has time for it, however slow the machine is.
    limits = Limits(seconds=1 if reason == "timeout" else 60)
    with Stopwatch() as watch:
        assert recognise_now(pdf_path, limits).reason == reason
        assert watch.seconds < 10
    assert readers_of(str(pdf_path)) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_the_child_has_started_dies_with_the_worker_too(tmp_path: Path) -> None:
    scan, started = tmp_path / "scan.png", tmp_path / "started"
    scans.sheet().save(scan)
    tool = tmp_path / "tesseract"
    tool.write_text(f"""#!/bin/sh
case "$*" in *--version*|*--list-langs*) exec {need("tesseract")} "$@";; esac
echo $$ > {started}.new && mv {started}.new {started}
exec sleep 600
""")
    tool.chmod(0o755)
    program = (
        "from documents.processing.limits import Limits\n"
        "from documents.processing.ocr import recognised\n"
        f"with recognised({str(scan)!r}, 'image/png', Limits(), ['deu'], lambda *progress: None): pass\n"
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    worker = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, env=environment)
    eventually(started.exists, within=60, what="Tesseract runs")
    tesseract = psutil.Process(int(started.read_text()))
    worker.kill()
    worker.wait()
    tesseract.wait(20)


def test_without_the_program_the_document_is_stored_and_says_so(
    api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DMS_OCR_LANGUAGES = "deu"
    monkeypatch.setenv("PATH", "/nonexistent")
    document_id = api.upload(scans.scanned_pdf(scans.sheet())).json()["id"]
    assert {job.status for job in work_off()} == {"succeeded"}
    body = api.get(f"/{document_id}").json()
    assert (body["status"], body["has_archive"]) == ("ready", False)
    assert steps_of(body)["ocr"] == ("skipped", "tool_missing")
    answer = api.get(f"/{document_id}/archive")
    assert (answer.status_code, answer.json()["code"]) == (404, "archive_not_found")


# Around it, without the program


@pytest.fixture
def ocr(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """Have text be recognised in no time; a list of the words that each page gets, and for each time a line in it."""
    settings.DMS_OCR_LANGUAGES = "deu"
    runs = ["erkannt"]

    @contextlib.contextmanager
    def quickly(path: str, mime_type: str, limits: Limits, languages: list[str], progress: Any) -> Iterator[Archive]:
        archive = tmp_path / "archive.pdf"
        archive.write_bytes(files.pdf(runs[-1]) + hashlib.sha256(runs[-1].encode()).digest())
        progress(1, 2)
        yield Archive(archive, Findings(1, [Page(1, runs[-1])]))
        runs.append(f"erkannt{len(runs)}")

    monkeypatch.setattr(recognition, "recognised", quickly)
    monkeypatch.setattr(recognition, "tool_is_missing", lambda: False)
    return runs


@pytest.fixture
def scan(api: Api, ocr: list[str]) -> str:
    """A scan that was read and waits for its text to be recognised; where it is."""
    path = f"/{api.upload(scans.scanned_pdf(scans.sheet())).json()['id']}"
    run(Queue().dequeue("test"))
    return path


def test_a_scan_that_was_read_is_still_being_processed_and_shows_its_steps(api: Api, scan: str) -> None:
    body = api.get(scan).json()
    assert (body["status"], list(steps_of(body))) == ("processing", ["inspect", "text", "thumbnail", "index"])
    assert api.client.get(f"/api/jobs/{body['job_id']}").json()["status"] == "pending"
    work_off()
    assert list(steps_of(api.get(scan).json())) == ["inspect", "text", "ocr", "thumbnail", "index"]


def test_what_needs_no_recognition_gets_none(api: Api, ocr: list[str]) -> None:
    for content in (files.pdf("eigener Text"), b"plain", files.pdf("")):
        path = f"/{api.upload(content).json()['id']}"
        assert len(work_off()) == 1
        assert "ocr" not in steps_of(api.get(path).json())


def test_a_retry_repeats_the_recognition_and_nothing_before_it(
    api: Api, scan: str, ocr: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "keep", lambda *args: (_ for _ in ()).throw(StorageUnavailable("away")))
    monkeypatch.setattr(jobs, "examine", lambda *args: pytest.fail("it was read again"))
    [job] = work_off()
    assert (job.job_type, job.status, api.get(scan).json()["status"]) == (
        "documents.recognise",
        "pending",
        "processing",
    )
    assert steps_of(api.get(scan).json())["thumbnail"] == ("done", "")


def test_the_last_attempt_says_that_it_could_not_be_done_now_and_costs_nothing_else(
    api: Api, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*args: Any) -> Any:
        raise ChildKilled("by the machine")

    monkeypatch.setattr(recognition, "recognised", killed)
    ProcessingJob.objects.filter(status="pending").update(max_attempts=1)
    [job] = work_off()
    body = api.get(scan).json()
    assert (job.status, body["status"], steps_of(body)["ocr"]) == ("dead_letter", "partial", ("failed", "unavailable"))
    assert steps_of(body)["thumbnail"] == ("done", "")


@pytest.mark.parametrize("end", ["deleted", "given to another worker"])
def test_what_is_not_wanted_any_more_leaves_no_object(
    api: Api, scan: str, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    before = set(local_store.list_keys())
    keep = archives.keep

    def keep_and_act(*args: Any) -> Any:
        kept = keep(*args)
        if end == "deleted":
            api.client.delete(f"/api/documents{scan}")
        else:
            ProcessingJob.objects.filter(status="processing").update(lock_token="00000000-0000-0000-0000-000000000001")
        return kept

    monkeypatch.setattr(archives, "keep", keep_and_act)
    context = JobContext(Queue().dequeue("test"), Queue())
    with pytest.raises(LockLost) if end != "deleted" else contextlib.nullcontext():
        assert "stopped" in jobs.recognise(context)
    assert set(local_store.list_keys()) == before


def test_reading_again_takes_what_was_recognised_and_the_step_alone_recognises_anew(
    api: Api, scan: str, ocr: list[str]
) -> None:
    work_off()
    assert ocr == ["erkannt", "erkannt1"]
    before = DocumentVersion.objects.get().archive_key
    assert api.client.post(f"/api/documents{scan}/reprocess").status_code == 202
    assert len(work_off()) == 2
    assert (len(ocr), [page.text for page in DocumentPage.objects.all()]) == (2, ["erkannt"])
    answer = api.client.post(f"/api/documents{scan}/reprocess?step=ocr").json()
    assert (answer["status"], list(steps_of(answer))) == ("processing", ["inspect", "text", "thumbnail", "index"])
    assert [job.job_type for job in work_off()][-1] == "documents.recognise"
    assert (len(ocr), [page.text for page in DocumentPage.objects.all()]) == (3, ["erkannt1"])
    assert DocumentVersion.objects.get().archive_key != before
    assert api.search("erkannt1").json()["count"] == 1


def test_a_step_that_a_document_can_not_have_is_refused(api: Api, ocr: list[str], settings: Any) -> None:
    path = f"/api/documents/{api.upload(b'plain').json()['id']}/reprocess"
    work_off()
    assert api.client.post(f"{path}?step=ocr").json()["code"] == "invalid_value"
    assert api.client.post(f"{path}?step=nonsense").status_code == 422
    assert Document.objects.get().status == "ready"


def test_a_document_in_which_nothing_can_be_recognised_says_why(
    api: Api, scan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> Any:
        raise Unreadable(Reason.TIMEOUT, "it took too long")

    monkeypatch.setattr(recognition, "recognised", fail)
    [job] = work_off()
    body = api.get(scan).json()
    assert (job.status, body["status"], steps_of(body)["ocr"]) == ("succeeded", "partial", ("failed", "timeout"))
