"""Random walks: the HTTP API against a small model of documents and their jobs, compared after each step."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from documents import jobs
from documents.exceptions import StorageUnavailable
from documents.models import AuditEntry, DocumentVersion
from documents.processing.examination import Examination
from documents.processing.findings import Findings, Page, Step, StepStatus
from documents.storage import ObjectStore, object_store
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.documents.http import Api
from tests.documents.servers import use_storage
from tests.documents.work import run

MAX_ATTEMPTS = 2
# What is uploaded, and what a worker makes of it; "outage": nothing for now, then nothing at all.
CONTENTS = {b"first words": "ready", b"second words": "ready", b"a lock": "failed", b"bad luck": "outage"}
CONTENT = st.sampled_from(sorted(CONTENTS))


def examine(path: str, *args: Any) -> Examination:
    """Stand in for the child process, which would take a second for each document."""
    content = Path(path).read_bytes()
    outcome = CONTENTS[content]
    if outcome == "outage":
        raise StorageUnavailable("bad luck")
    if outcome == "failed":
        return Examination([Step("inspect", StepStatus.FAILED, "locked")])
    findings = Findings(1, [Page(1, content.decode())])
    return Examination(findings.steps(), findings)


@dataclass
class Job:
    document: bytes
    status: str = "pending"
    attempts: int = 0


@dataclass
class Document:
    """What we believe about the document with some content."""

    id: str
    title: str
    job: int
    status: str = "processing"
    is_trashed: bool = False
    has_text: bool = False


@dataclass
class Model:
    documents: dict[bytes, Document] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    deeds: list[str] = field(default_factory=list)

    def shown(self, content: bytes) -> str:
        """The status that people see: nobody works on a document whose job has ended without a word."""
        document = self.documents[content]
        has_worker = self.jobs[document.job].status in ("pending", "succeeded")
        return document.status if document.status != "processing" or has_worker else "failed"


class Walk(RuleBasedStateMachine):
    """Every verb that people, a worker and an operator have, at any time."""

    api: Api
    settings: Any
    folder: Path

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.savepoint = connection.savepoint()
        Walk.number = getattr(Walk, "number", 0) + 1
        location = str(self.folder / str(Walk.number))
        self.store: ObjectStore = use_storage(
            self.settings,
            {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": location}},
        )

    def teardown(self) -> None:
        connection.savepoint_rollback(self.savepoint)

    def post(self, document: Document, verb: str) -> Any:
        return self.api.client.post(f"/api/documents/{document.id}/{verb}")

    def note_job(self, content: bytes, body: dict[str, Any]) -> None:
        """The document has a new job, which is named in the answer."""
        assert body["job_id"] not in self.model.jobs
        self.model.jobs[body["job_id"]] = Job(content)
        self.model.documents[content].job = body["job_id"]

    # What people do

    @rule(content=CONTENT)
    def upload(self, content: bytes) -> None:
        known = self.model.documents.get(content)
        answer = self.api.upload(content, "file.txt", title=f"title {len(self.model.deeds)}")
        body = answer.json()
        assert answer.status_code == (200 if known else 201)
        assert (body["duplicate"], body["restored"]) == (bool(known), bool(known and known.is_trashed))
        if known is None:
            self.model.documents[content] = Document(body["id"], body["title"], body["job_id"])
            self.model.deeds.append("uploaded")
            self.note_job(content, body)
            return
        assert body["id"] == known.id
        self.model.deeds.append("uploaded_again")
        self.come_back(content, body)

    def come_back(self, content: bytes, body: dict[str, Any]) -> None:
        document = self.model.documents[content]
        if document.is_trashed:
            document.is_trashed = False
            self.model.deeds.append("restored")
            if document.status == "processing":
                self.note_job(content, body)

    @rule(content=CONTENT, title=st.sampled_from(["a", "b", " a ", "\u202e", ""]))
    def rename(self, content: bytes, title: str) -> None:
        if not (document := self.model.documents.get(content)):
            return
        path = f"/api/documents/{document.id}"
        answer = self.api.client.patch(path, json.dumps({"title": title}), "application/json")
        visible = title.strip().replace("\u202e", "")
        if not title:
            assert answer.status_code == 422
        elif document.is_trashed:
            assert answer.status_code == 404
        elif not visible:
            assert answer.status_code == 400
        else:
            assert answer.status_code == 200
            if visible != document.title:
                document.title = visible
                self.model.deeds.append("renamed")

    @rule(content=CONTENT)
    def trash(self, content: bytes) -> None:
        if document := self.model.documents.get(content):
            answer = self.api.client.delete(f"/api/documents/{document.id}")
            assert answer.status_code == (404 if document.is_trashed else 204)
            if not document.is_trashed:
                document.is_trashed = True
                self.model.deeds.append("trashed")

    @rule(content=CONTENT)
    def restore(self, content: bytes) -> None:
        if document := self.model.documents.get(content):
            answer = self.post(document, "restore")
            assert answer.status_code == 200
            self.come_back(content, answer.json())

    @rule(content=CONTENT)
    def reprocess(self, content: bytes) -> None:
        if not (document := self.model.documents.get(content)):
            return
        answer = self.post(document, "reprocess")
        assert answer.status_code == (404 if document.is_trashed else 202)
        if not document.is_trashed and self.model.jobs[document.job].status != "pending":
            document.status = "processing"
            self.model.deeds.append("reprocessed")
            self.note_job(content, answer.json())

    # What a worker and an operator do

    @rule()
    @precondition(lambda self: any(job.status == "pending" for job in self.model.jobs.values()))
    def work(self) -> None:
        """Run the oldest job, however long its retry should wait."""
        waiting = ProcessingJob.objects.filter(status="pending")
        waiting.update(available_at="2001-01-01T00:00:00Z", max_attempts=MAX_ATTEMPTS)  # of twenty
        claimed = Queue().dequeue("test")
        job = self.model.jobs[claimed.pk]
        assert claimed.pk == min(pk for pk, each in self.model.jobs.items() if each.status == "pending")
        run(claimed)
        document, outcome = self.model.documents[job.document], CONTENTS[job.document]
        job.attempts += 1
        if document.is_trashed or outcome != "outage":
            job.status = "succeeded"
        elif job.attempts == MAX_ATTEMPTS:
            job.status = "dead_letter"
        if document.is_trashed or job.status == "pending":
            return
        document.status = "ready" if outcome == "ready" else "failed"
        document.has_text = outcome == "ready"

    @rule(content=CONTENT)
    def cancel_its_job(self, content: bytes) -> None:
        document = self.model.documents.get(content)
        if document and self.model.jobs[document.job].status == "pending":
            assert Queue().cancel(document.job)
            self.model.jobs[document.job].status = "failed"

    @rule(content=CONTENT)
    def requeue_its_dead_letter(self, content: bytes) -> None:
        document = self.model.documents.get(content)
        if document and self.model.jobs[document.job].status == "dead_letter":
            Queue().requeue_dead_letter(document.job)
            self.model.jobs[document.job] = Job(content)

    @rule(content=CONTENT)
    def look(self, content: bytes) -> None:
        """Each part of a document is there, or not at all."""
        if not (document := self.model.documents.get(content)):
            return
        answer, text, download = (self.api.get(f"/{document.id}{part}") for part in ("", "/text", "/download"))
        if document.is_trashed:
            assert {answer.status_code, text.status_code, download.status_code} == {404}
            return
        assert (answer.json()["title"], answer.json()["status"]) == (document.title, self.model.shown(content))
        assert text.status_code == (200 if document.has_text else 404)
        assert b"".join(download) == content

    # Rules that hold at every moment

    @invariant()
    def list_and_search_show_what_is_not_in_the_trash_as_the_model_has_it(self) -> None:
        shown = {content: each for content, each in self.model.documents.items() if not each.is_trashed}
        listed = self.api.get().json()
        assert listed["count"] == len(shown)
        assert {(item["id"], item["title"], item["status"]) for item in listed["items"]} == {
            (document.id, document.title, self.model.shown(content)) for content, document in shown.items()
        }
        found = {item["id"] for item in self.api.search("words").json()["items"]}
        assert found == {document.id for document in shown.values() if document.has_text}

    @invariant()
    def jobs_objects_and_audit_are_what_the_deeds_come_to(self) -> None:
        rows = dict(ProcessingJob.objects.values_list("pk", "status"))
        assert rows == {pk: job.status for pk, job in self.model.jobs.items()}
        keys = sorted(DocumentVersion.objects.values_list("storage_key", flat=True))
        assert sorted(object_store().list_keys()) == keys
        assert len(keys) == len(self.model.documents)
        assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == self.model.deeds


def test_no_sequence_of_verbs_breaks_a_rule(
    api: Api, user: User, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "examine", examine)
    for name, value in {"api": api, "settings": settings, "folder": tmp_path}.items():
        monkeypatch.setattr(Walk, name, value, raising=False)
    walks = hypothesis_settings(
        max_examples=8, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Walk, settings=walks)
