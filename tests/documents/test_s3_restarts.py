"""The S3 server is killed and started again while people upload: what was promised is kept (D29, D33).

``S3_RESTARTS=50x6 make test ARGS=tests/documents/test_s3_restarts.py`` runs it with 50 uploads and six kills, and waits
as long as the queue's delays are, which is minutes.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pikepdf
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models.functions import Now

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken
from documents.models import Document, DocumentVersion
from documents.objects import objects_of
from documents.storage import ObjectStore
from jobqueue.models import ProcessingJob
from scripts.leash import leashed
from tests.documents import files
from tests.documents.servers import S3Server, s3_environment, s3_storage, use_storage
from tests.documents.web import ROOT, WebClient, WebServer
from tests.stopwatch import Stopwatch

UPLOADS, KILLS = map(int, os.environ.get("S3_RESTARTS", "16x2").split("x"))
IN_FULL = "S3_RESTARTS" in os.environ
ANSWERED_WITHIN = 15  # seconds, with the limits below
LIMITS = {
    "DMS_S3_CONNECT_TIMEOUT": "1s",
    "DMS_S3_READ_TIMEOUT": "2s",
    "DMS_STORAGE_TIMEOUT": "5s",
}


@dataclass
class Uploads:
    """Uploads, each by somebody who tries again after a 503 until there is a promise."""

    client: WebClient
    threads: list[threading.Thread] = field(default_factory=list)
    answers: list[tuple[int, str, float]] = field(default_factory=list)
    promised: dict[str, str] = field(default_factory=dict)  # SHA-256 -> id

    def begin(self, contents: list[bytes]) -> None:
        for content in contents:
            self.threads.append(threading.Thread(target=self._insist, args=(content,), daemon=True))
            self.threads[-1].start()

    def _insist(self, content: bytes) -> None:
        while not self._promised(content):
            time.sleep(0.3)

    def _promised(self, content: bytes) -> bool:
        with Stopwatch() as watch:
            answer = self.client.upload(content, name="file")
            body = json.load(answer)
            self.answers.append((answer.status, body.get("code", ""), watch.seconds))
        if answer.status in (200, 201):
            self.promised[body["sha256"]] = body["id"]
        return answer.status != 503

    def refused(self) -> int:
        return sum(code == "storage_unavailable" for _, code, _ in list(self.answers))

    def wait(self) -> None:
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()


def contents() -> list[bytes]:
    """Texts, no two alike; every eighth is a PDF so large that it goes in parts."""

    def fatten(pdf: pikepdf.Pdf) -> None:
        # Nothing in it that could be taken for the end of a part of the form.
        pdf.Root.Ballast = pdf.make_stream(os.urandom(17 * 2**20).replace(b"-", b"+"))

    return [
        files.pdf(f"text {number}", change=fatten) if number % 8 == 3 else b"text %d " % number * 500
        for number in range(UPLOADS)
    ]


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    (tmp_path / "s3").mkdir()
    server = S3Server(tmp_path / "s3")
    yield server
    server.stop()


@pytest.fixture
def s3_of_its_own(s3: S3Server, settings: Any) -> ObjectStore:
    store = use_storage(settings, s3_storage(s3.port))
    s3.wait_until_ready(store)
    return store


@pytest.fixture
def web(committed_db: None, s3_of_its_own: ObjectStore, s3: S3Server, database_url: str, tmp_path: Path) -> Any:
    server = WebServer(database_url, tmp_path / "unused", **s3_environment(s3.port), **LIMITS)
    yield server
    server.stop()


@pytest.fixture
def worker(web: WebServer, s3: S3Server, database_url: str, tmp_path: Path) -> Iterator[None]:
    """A worker that shares no folder with the web server."""
    (tmp_path / "temporary").mkdir()
    environment = {
        "DATABASE_URL": database_url,
        "DJANGO_DEBUG": "true",
        "DJANGO_SETTINGS_MODULE": "dms_project.settings",
        "TMPDIR": str(tmp_path / "temporary"),
    }
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            leashed([sys.executable, "manage.py", "runworker"]),
            cwd=ROOT,
            env=os.environ | environment | s3_environment(s3.port) | LIMITS,
            stdout=log,
            stderr=log,
        )
    yield
    process.terminate()
    process.wait(40)


def eventually(holds: Callable[[], bool], seconds: float) -> None:
    with Stopwatch() as watch:
        while not holds():
            assert watch.seconds < seconds
            time.sleep(0.2)


@pytest.mark.timeout(1200 if IN_FULL else 180)
def test_uploads_while_s3_is_killed_and_started_again_lose_nothing(
    web: WebServer, worker: None, s3: S3Server, s3_of_its_own: ObjectStore, capsys: pytest.CaptureFixture[str]
) -> None:
    with use("acme"):
        token = ApiToken.objects.issue(User.objects.create_user("alice"), "test")[1]
    client = WebClient(web, "acme", token)
    sent = waiting = contents()
    uploads, unready = Uploads(client), []
    for kills_left in range(KILLS, 0, -1):
        some, waiting = waiting[: len(waiting) // kills_left], waiting[len(waiting) // kills_left :]
        uploads.begin(some[::2])
        eventually(lambda: len(uploads.answers) > 0, seconds=20)
        refused = uploads.refused()
        s3.kill()
        uploads.begin(some[1::2])
        eventually(lambda before=refused: uploads.refused() > before, seconds=20)
        unready.append(json.load(client.request("GET", "/readyz")))
        assert client.request("GET", "/api/documents").status == 200
        s3.start()
        s3.wait_until_ready(s3_of_its_own)
    uploads.wait()

    statuses = Counter((status, code) for status, code, _ in uploads.answers)
    slowest = max(seconds for *_, seconds in uploads.answers)
    assert statuses.keys() <= {(200, ""), (201, ""), (503, "storage_unavailable"), (503, "busy")}
    assert statuses[(503, "storage_unavailable")] >= KILLS
    assert slowest < ANSWERED_WITHIN
    assert {report["storage_reason"] for report in unready} <= {"unreachable", "no_answer"}
    assert client.request("GET", "/readyz").status == 200

    expected = {hashlib.sha256(content).hexdigest() for content in sent}
    assert uploads.promised.keys() == expected
    started = time.monotonic()
    with use("acme"):
        eventually(lambda: all_ready(hurry=not IN_FULL), seconds=900 if IN_FULL else 90)
        attempts = Counter(ProcessingJob.objects.values_list("attempts", flat=True))
        versions = list(DocumentVersion.objects.all())
        named = {owned.key for version in versions for owned in objects_of(version)}
    waited = time.monotonic() - started
    assert {version.sha256 for version in versions} == expected
    for sha256, document_id in uploads.promised.items():
        body = client.request("GET", f"/api/documents/{document_id}/download").read()
        assert hashlib.sha256(body).hexdigest() == sha256

    orphans = len(list(s3_of_its_own.list_keys())) - len(named)
    call_command("documents", "collect-orphans", "--older-than", "0")
    call_command("documents", "verify")
    assert set(s3_of_its_own.list_keys()) == named
    assert list(s3_of_its_own.list_unfinished()) == []
    with capsys.disabled():
        print(
            f"\n{UPLOADS} uploads, {KILLS} kills of S3: answers {dict(statuses)}, slowest {slowest:.1f} s; "
            f"attempts of the jobs {dict(attempts)}, all ready {waited:.0f} s after; {orphans} orphans removed"
        )


def all_ready(*, hurry: bool) -> bool:
    if hurry:
        ProcessingJob.objects.filter(status="pending").update(available_at=Now())
    return not Document.objects.exclude(status="ready").exists()
