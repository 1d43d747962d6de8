"""The processing job: beside edits and deletions, twice, and in a real worker that dies."""

import json
import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.contrib.auth.models import User
from django.db import ProgrammingError

from dms_project.tenancy import use
from dms_project.tenancy.fleet import exists
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from documents import jobs, results
from documents.models import Document, DocumentPage, DocumentVersion
from documents.processing.child_process import ChildKilled
from documents.processing.examination import Examination
from documents.processing.findings import Findings, Page
from documents.storage import ObjectStore
from documents.storage._reader import CHUNK_BYTES
from jobqueue.exceptions import LockLost
from jobqueue.handlers import JobContext
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.documents import files
from tests.documents.http import Api
from tests.documents.test_confinement import instead_of_the_child
from tests.documents.work import run, work_off
from tests.faults.proxy import FaultyConnection
from tests.programs import Program, manage

__all__ = ["instead_of_the_child"]  # a fixture


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Have something happen after the original was read and before the result is written."""

    def arrange(action: Callable[[], object]) -> None:
        original = jobs.examine

        def examine_and_act(*args: Any) -> Examination:
            examined = original(*args)
            action()
            return examined

        monkeypatch.setattr(jobs, "examine", examine_and_act)

    return arrange


def test_a_title_edited_during_processing_survives(api: Api, meanwhile: Any) -> None:
    path = f"/api/documents/{api.upload(b'words').json()['id']}"
    meanwhile(lambda: api.client.patch(path, json.dumps({"title": "edited"}), "application/json"))
    work_off()
    body = api.client.get(path).json()
    assert (body["title"], body["status"]) == ("edited", "ready")


def test_a_document_deleted_before_its_job_stops_it_quietly(api: Api) -> None:
    api.client.delete(f"/api/documents/{api.upload(b'words').json()['id']}")
    [job] = work_off()
    assert (job.status, job.attempts) == ("succeeded", 1)
    assert "stopped" in job.result
    assert not DocumentPage.objects.exists()


def test_a_document_deleted_during_processing_stops_it_quietly_and_comes_back_whole(
    api: Api, meanwhile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/documents/{api.upload(b'words').json()['id']}"
    meanwhile(lambda: api.client.delete(path))
    [job] = work_off()
    assert (job.status, "stopped" in job.result) == ("succeeded", True)
    assert not DocumentPage.objects.exists()
    monkeypatch.undo()
    assert api.client.post(f"{path}/restore").json()["status"] == "processing"
    work_off()
    assert api.client.get(path).json()["status"] == "ready"


def test_a_row_removed_during_processing_does_not_reappear(api: Api, meanwhile: Any) -> None:
    api.upload(b"words")
    meanwhile(lambda: Document.objects.all().delete())
    [job] = work_off()
    assert job.status == "succeeded"
    assert not Document.objects.exists()
    assert not DocumentVersion.objects.exists()


@pytest.mark.parametrize("removed", ["before the job", "while it is fetched", "while it is read"])
def test_a_row_and_its_object_that_are_removed_stop_the_job_quietly(
    api: Api, store: ObjectStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, removed: str
) -> None:
    api.upload(b"words")
    key = DocumentVersion.objects.get().storage_key

    def remove() -> None:
        Document.objects.all().delete()
        store.delete(key)

    def removing(function: Callable[..., Any]) -> Callable[..., Any]:
        def remove_and_go_on(*args: Any, **kwargs: Any) -> Any:
            remove()
            return function(*args, **kwargs)

        return remove_and_go_on

    if removed == "before the job":
        remove()
    elif removed == "while it is fetched":
        monkeypatch.setattr(type(store), "fetch", removing(type(store).fetch))
    else:
        monkeypatch.setattr(jobs, "examine", removing(jobs.examine))
    [job] = work_off()
    assert (job.status, job.attempts, "stopped" in job.result) == ("succeeded", 1, True)
    assert not Document.objects.exists()
    assert key not in list(store.list_keys())
    assert [record for record in caplog.records if record.levelname not in ("INFO", "DEBUG", "WARNING")] == []


def test_a_tenant_deleted_while_its_document_is_read_gets_nothing_back(
    committed_db: None, local_store: ObjectStore, meanwhile: Any
) -> None:
    create_tenant("passing", "passing.localhost")
    with use("passing"):
        Api("passing", User.objects.create_user("alice")).upload(b"words")
        meanwhile(lambda: delete_tenant("passing"))
        job = Queue().dequeue("worker")
        with pytest.raises(ProgrammingError, match="does not exist"):
            jobs.process(JobContext(job, Queue()))
    assert not exists("passing")
    assert list(local_store.list_keys()) == []


def test_processing_twice_is_processing_once(api: Api) -> None:
    body = api.upload(files.ten_pages()).json()
    first = Queue().dequeue("one")
    run(first)
    again = Queue().enqueue(first.job_type, first.payload)
    run(Queue().dequeue("two"))
    assert again.pk != first.pk
    assert DocumentPage.objects.count() == 10
    assert api.get(f"/{body['id']}").json()["status"] == "ready"


def test_the_text_of_an_older_version_is_not_written_over_the_newer_one(api: Api) -> None:
    api.upload(b"old words")
    version = DocumentVersion.objects.get()
    version.is_current = False
    version.save()
    assert results.write(version, Findings(), [], hold=lambda: None) is None


def test_a_run_that_has_lost_its_job_leaves_what_the_other_run_found(api: Api, meanwhile: Any) -> None:
    """A frozen worker wakes after its job was given to another, which has finished the document."""
    body = api.upload(files.ten_pages()).json()

    def give_the_job_away_and_finish() -> None:
        ProcessingJob.objects.filter(status="processing").update(locked_at="2001-01-01T00:00:00Z")
        other = Queue().dequeue("other")
        version = DocumentVersion.objects.get()
        findings = Findings(1, [Page(1, "what the other found")])
        results.write(version, findings, findings.steps(), JobContext(other, Queue()).hold)
        Queue().complete(other)

    meanwhile(give_the_job_away_and_finish)
    with pytest.raises(LockLost):
        jobs.process(JobContext(Queue().dequeue("frozen"), Queue()))

    assert [page.text for page in DocumentPage.objects.all()] == ["what the other found"]
    assert api.get(f"/{body['id']}").json()["status"] == "ready"


def test_an_outage_is_retried_and_says_so_only_at_the_end(connection_to_s3: FaultyConnection, api: Api) -> None:
    path = f"/api/documents/{api.upload(b'words').json()['id']}"
    connection_to_s3.mode = "refuse"
    ProcessingJob.objects.update(max_attempts=2)
    [job] = work_off()
    assert (job.status, api.client.get(path).json()["status"]) == ("pending", "processing")
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    [job] = work_off()
    body = api.client.get(path).json()
    assert (job.status, body["status"]) == ("dead_letter", "failed")
    assert [step["reason"] for step in body["steps"]] == ["unavailable"] * 4
    connection_to_s3.mode = "pass"
    Queue().requeue_dead_letter(job.pk)
    work_off()
    assert api.client.get(path).json()["status"] == "ready"


def test_an_outage_of_an_hour_sends_no_job_to_the_dead_letters(api: Api) -> None:
    api.upload(b"words")
    job = ProcessingJob.objects.get()
    waits = [min(attempt, 10) * 30 for attempt in range(1, job.max_attempts)]
    assert sum(waits) > 3600


@pytest.mark.parametrize("cut_after", [CHUNK_BYTES // 2, CHUNK_BYTES, 2 * CHUNK_BYTES])
def test_a_document_that_arrives_cut_off_is_not_read_as_if_it_were_whole(
    connection_to_s3: FaultyConnection, api: Api, cut_after: int
) -> None:
    lines = "".join(f"line {number}\n" for number in range(60_000))
    path = f"/{api.upload(lines.encode(), 'lines.txt').json()['id']}"
    connection_to_s3.cut_after, connection_to_s3.mode = cut_after, "cut"
    [job] = work_off()
    assert (job.status, DocumentPage.objects.count()) == ("pending", 0)
    connection_to_s3.mode = "pass"
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    work_off()
    assert api.get(path).json()["status"] == "ready"
    assert api.get(f"{path}/text").content.decode().split() == lines.split()


def test_an_outage_during_reprocessing_costs_no_text(api: Api, local_store: ObjectStore) -> None:
    path = f"/api/documents/{api.upload(b'precious words').json()['id']}"
    work_off()
    local_store.delete(DocumentVersion.objects.get().storage_key)
    api.client.post(f"{path}/reprocess")
    ProcessingJob.objects.filter(status="pending").update(max_attempts=1)
    work_off()
    assert api.client.get(path).json()["status"] == "failed"
    assert api.client.get(f"{path}/text").content == b"precious words"
    assert api.search("precious").json()["count"] == 1


def test_a_dead_letter_can_be_processed_again_by_the_user(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*args: Any) -> None:
        raise ChildKilled("by the machine")

    first = api.upload(b"words").json()
    ProcessingJob.objects.update(max_attempts=1)
    monkeypatch.setattr(jobs, "examine", killed)
    work_off()
    monkeypatch.undo()
    again = api.client.post(f"/api/documents/{first['id']}/reprocess").json()
    assert again["job_id"] != first["job_id"]
    work_off()
    assert api.get(f"/{first['id']}").json()["status"] == "ready"


def test_a_document_whose_parser_hangs_says_so_at_its_first_attempt(
    api: Api, instead_of_the_child: Any, settings: Any
) -> None:
    settings.DMS_PROCESSING_TIMEOUT = timedelta(seconds=1)
    instead_of_the_child("signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)")
    document_id = api.upload(files.pdf("words")).json()["id"]
    [job] = work_off()
    assert (job.status, job.attempts) == ("succeeded", 1)
    body = api.get(f"/{document_id}").json()
    assert (body["status"], {step["reason"] for step in body["steps"]}) == ("failed", {"timeout"})
    assert psutil.STATUS_ZOMBIE not in {child.status() for child in psutil.Process().children()}


def test_payloads_hold_ids_only(api: Api, tmp_path: Path) -> None:
    api.upload(b"words", "secret name.txt")
    payload = json.dumps(ProcessingJob.objects.get().payload)
    assert "secret" not in payload
    assert "/" not in payload


def worker(database_url: str, tmp_path: Path) -> Program:
    environment = os.environ | {
        "DATABASE_URL": database_url,
        "DJANGO_DEBUG": "true",
        "DJANGO_SETTINGS_MODULE": "dms_project.settings",
        "DMS_STORAGE_DIR": str(tmp_path / "storage"),
        "TMPDIR": str(tmp_path / "temporary"),
    }
    with (tmp_path / "worker.log").open("ab") as log:
        return manage(["runworker"], environment, log)


def test_real_workers_read_what_a_killed_one_left(committed_db: None, database_url: str, tmp_path: Path) -> None:
    apis = {}
    for tenant in ("acme", "globex"):
        with use(tenant):
            apis[tenant] = Api(tenant, User.objects.create_user("alice"))
    many = files.pdf(*(f"seite{number} Paketverwaltung" for number in range(1000)))
    slow = apis["acme"].upload(many).json()["id"]
    (tmp_path / "temporary").mkdir()
    victim = worker(database_url, tmp_path)
    deadline = time.monotonic() + 30
    while not any("documents.processing.child" in child.cmdline() for child in children_of(victim)):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    parsers = [child for child in children_of(victim) if "documents.processing.child" in child.cmdline()]
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    psutil.wait_procs(parsers, timeout=5)
    assert list((tmp_path / "temporary").iterdir()) == [], "the copy that was being read went with its readers"
    apis["globex"].upload(b"only in globex")
    successor = worker(database_url, tmp_path)
    deadline = time.monotonic() + 60
    while apis["acme"].get(f"/{slow}").json()["status"] == "processing":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    successor.terminate()
    assert successor.wait(30) == 0
    with use("acme"):
        assert ProcessingJob.objects.get().attempts == 2
    assert apis["acme"].search("Paketverwaltung").json()["count"] == 1
    assert apis["acme"].get(f"/{slow}").json()["page_count"] == 1000
    assert apis["globex"].search("Paketverwaltung").json()["count"] == 0
    assert apis["globex"].search("globex").json()["count"] == 1


def children_of(process: Program) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
