"""Two tenants hammer one web process and one worker at the same time (T13, T14, T17), and every answer is compared.

Everything that is numbered has the same numbers in both: users, jobs, sessions' rows. What differs is a word that each
tenant puts into whatever it stores: an answer, a page, a text or a line of the log must never have the other's.
"""

import http.client
import json
import os
import random
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken
from jobqueue.models import ProcessingJob
from tests.documents.servers import use_storage
from tests.documents.web import WebClient, WebServer
from tests.programs import manage
from tests.tenancy.waiting import wait_until

WORDS = {"acme": "aardvark", "globex": "giraffe"}
THREADS_EACH = 4
ROUNDS = 25


@dataclass
class Tenant:
    """What a tenant's callers know, and all that was ever answered to them."""

    name: str
    word: str
    web: WebServer
    token: str
    session: str
    documents: list[str] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def by_token(self) -> WebClient:
        return WebClient(self.web, self.name, self.token)

    def get(self, path: str, expected: int, *, has_word: bool = True, **headers: str) -> str:
        """Ask for something, and note an answer that isn't what this tenant should get."""
        answer = _patiently(lambda: self.by_token.request("GET", path, **headers))
        body = answer.read().decode()
        everything = f"{answer.getheaders()}{body}"
        strange = [word for word in WORDS.values() if word != self.word and word in everything]
        if answer.status != expected or strange or (has_word and self.word not in body):
            self.wrong.append(f"{path}: {answer.status} {strange} {body[:200]}")
        return body

    def page(self, path: str, **options: Any) -> str:
        return self.get(path, 200, Authorization="", Cookie=f"sessionid={self.session}", **options)

    def upload(self, content: str) -> dict[str, Any]:
        answer = _patiently(
            lambda: self.by_token.upload(f"{self.word} {content}".encode(), name=f"{self.word} {content}.txt")
        )
        document: dict[str, Any] = json.load(answer)
        if answer.status != 201 or document["duplicate"]:
            self.wrong.append(f"upload {content}: {answer.status} {document}")
        return document


def _patiently(ask: Callable[[], http.client.HTTPResponse]) -> http.client.HTTPResponse:
    """Ask again while the server says that it is busy, as it does where the machine is too slow for eight at once."""
    return next(answer for answer in iter(ask, None) if answer.status != http.HTTPStatus.SERVICE_UNAVAILABLE)


@pytest.fixture
def tenants(committed_db: None, database_url: str, settings: Any, tmp_path: Path) -> Iterator[list[Tenant]]:
    folder = tmp_path / "storage"
    use_storage(
        settings, {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(folder)}}
    )
    web = WebServer(database_url, folder, DMS_LOG_FORMAT="json")
    yield [_furnish(name, word, web) for name, word in WORDS.items()]
    web.stop()


def _furnish(name: str, word: str, web: WebServer) -> Tenant:
    with use(name):
        user = User.objects.create_superuser("ada", first_name=word, pk=1)
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(pg_get_serial_sequence('processing_jobs', 'id'), 1000)")
        browser = Client(headers={"host": f"{name}.localhost"})
        browser.force_login(user)
        token = ApiToken.objects.issue(user, word)[1]
    tenant = Tenant(name, word, web, token, browser.cookies["sessionid"].value)
    for number in range(3):
        document = tenant.upload(f"shared words {number}")
        tenant.documents.append(document["id"])
        tenant.jobs.append(document["job_id"])
    return tenant


@contextmanager
def worker(database_url: str, folder: Path) -> Iterator[Path]:
    """Have jobs of both tenants run, four at a time in one process; its log is JSON, too."""
    log = folder / "worker.log"
    environment = {"DATABASE_URL": database_url, "DJANGO_DEBUG": "true", "DMS_STORAGE_DIR": str(folder / "storage")}
    with log.open("wb") as output:
        environment |= {"DJANGO_SETTINGS_MODULE": "dms_project.settings", "DMS_LOG_FORMAT": "json"}
        process = manage(["runworker", "--concurrency", "4"], os.environ | environment, output)
    try:
        yield log
    finally:
        process.terminate()
        process.wait(30)


def one_round(tenant: Tenant, other: Tenant, number: str, chosen: random.Random) -> None:
    """Ask for one thing of each kind."""
    document = chosen.choice(tenant.documents)
    foreign = chosen.choice(other.documents)
    steps = [
        lambda: tenant.get("/api/documents", 200),
        lambda: tenant.get("/api/documents?q=shared", 200),
        lambda: tenant.get(f"/api/documents?q={other.word}", 200, has_word=False),
        lambda: tenant.get(f"/api/documents/{document}", 200),
        lambda: tenant.get(f"/api/documents/{document}/download", 200),
        lambda: tenant.get(f"/api/documents/{foreign}", 404, has_word=False),
        lambda: tenant.get("/api/documents", 401, has_word=False, Authorization=f"Bearer {other.token}"),
        lambda: tenant.get(f"/api/jobs/{chosen.choice(tenant.jobs)}", 200, has_word=False),
        lambda: tenant.page("/?q=shared"),
        lambda: tenant.page(f"/documents/{document}/"),
        lambda: tenant.page("/trash/", has_word=False),
        lambda: tenant.page(f"/states?ids={document},{foreign}", has_word=False),
        lambda: tenant.page("/admin/"),
        lambda: tenant.page("/admin/documents/document/"),
        lambda: tenant.page("/static/documents/pages.css", has_word=False),
        lambda: tenant.get("/", 302, has_word=False, Cookie=f"sessionid={other.session}"),
        lambda: tenant.upload(f"shared, new {number}"),
    ]
    chosen.shuffle(steps)
    for step in steps:
        step()


@pytest.mark.timeout(300)  # the machine may be busy with other tests
def test_whoever_asks_gets_what_is_theirs(tenants: list[Tenant], database_url: str, tmp_path: Path) -> None:
    acme, globex = tenants
    assert acme.jobs == globex.jobs, "the same numbers stand for different things"
    barrier = threading.Barrier(2 * THREADS_EACH)

    def hammer(tenant: Tenant, other: Tenant, thread: int) -> None:
        chosen = random.Random(f"{tenant.name}{thread}")
        barrier.wait()
        try:
            for number in range(ROUNDS // THREADS_EACH):
                one_round(tenant, other, f"{thread}-{number}", chosen)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs into the report
            tenant.wrong.append(f"thread {thread}: {error!r}")

    pairs = [(acme, globex), (globex, acme)]
    threads = [
        threading.Thread(target=hammer, args=(*pair, number)) for number in range(THREADS_EACH) for pair in pairs
    ]
    with worker(database_url, tmp_path) as worker_log:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert acme.wrong + globex.wrong == []
        for tenant in tenants:
            with use(tenant.name):
                wait_until(lambda: not ProcessingJob.objects.exclude(status="succeeded").exists(), 120)
    ids = {tenant.name: _ids_of_documents(tenant) for tenant in tenants}
    assert len(ids["acme"]) == len(ids["globex"]) == 3 + THREADS_EACH * (ROUNDS // THREADS_EACH)
    for tenant in tenants:
        for document in ids[tenant.name]:
            assert tenant.get(f"/api/documents/{document}/text", 200).startswith(tenant.word)
    assert acme.wrong + globex.wrong == []
    for log in (tenants[0].web.log, worker_log):
        _look_through(log, ids)


def _ids_of_documents(tenant: Tenant) -> set[str]:
    return {item["id"] for item in json.loads(tenant.get("/api/documents", 200))["items"]}


def _look_through(log: Path, ids: dict[str, set[str]]) -> None:
    """Check that each line is labelled with the tenant whose document it names, or with the tenant who asked for it."""
    labelled = set()
    for line in log.read_text().splitlines():
        record = json.loads(line) if line.startswith("{") else {}
        if not record.get("tenant"):
            assert not re.search("|".join(ids["acme"] | ids["globex"]), line), line
            continue
        labelled.add(record["tenant"])
        asked_for_a_foreign_one = record.get("status_code") == 404 or "Not Found" in line
        other = "globex" if record["tenant"] == "acme" else "acme"
        assert asked_for_a_foreign_one or not any(document in line for document in ids[other]), line
        assert WORDS[other] not in line
    assert labelled == {"acme", "globex"}


def test_the_same_bytes_in_two_tenants_know_nothing_of_each_other(tenants: list[Tenant]) -> None:
    """Case T17. Neither can a hash be turned into a document."""
    acme, globex = tenants
    content = b"the same bytes"
    first, again = (tenant.by_token.upload(content, name="same.txt") for tenant in tenants)
    assert (first.status, again.status) == (201, 201)
    mine, theirs = json.load(first), json.load(again)
    own = ("id", "created_at")
    assert {key: value for key, value in mine.items() if key not in own} == {
        key: value for key, value in theirs.items() if key not in own
    }
    assert mine["id"] != theirs["id"]

    assert acme.by_token.request("DELETE", f"/api/documents/{mine['id']}").status == 204
    assert globex.by_token.request("GET", f"/api/documents/{theirs['id']}/download").read() == content
    assert acme.by_token.request("GET", f"/api/documents/{theirs['id']}/download").status == 404

    instead_of_a_file = b'--B\r\nContent-Disposition: form-data; name="sha256"\r\n\r\n%s\r\n--B--\r\n'
    answer = globex.by_token.request(
        "POST",
        "/api/documents",
        instead_of_a_file % mine["sha256"].encode(),
        **{"Content-Type": "multipart/form-data; boundary=B"},
    )
    assert answer.status == 422


# What the wire says of the host, and the status of the answer.
HEADS = {
    "GET /login/ HTTP/1.1\r\nHost: ACME.localhost.:80\r\n": 200,
    "GET /login/ HTTP/1.1\r\nHost: nobody.localhost\r\n": 404,
    "GET /login/ HTTP/1.1\r\nHost: acme.localhost\r\nHost: globex.localhost\r\n": 400,
    "GET /login/ HTTP/1.1\r\nHost: acme.localhost, globex.localhost\r\n": 400,
    "GET /login/ HTTP/1.1\r\nHost:\r\n": 400,
    "GET /login/ HTTP/1.1\r\n": 400,
    "GET /login/ HTTP/1.0\r\n": 400,
    "GET http://globex.localhost/login/ HTTP/1.1\r\nHost: nobody.localhost\r\n": 404,
    "GET /login/ HTTP/1.1\r\nHost: nobody.localhost\r\nX-Forwarded-Host: acme.localhost\r\n": 404,
    "GET /login/ HTTP/1.1\r\nHost: nobody.localhost\r\nX-Tenant: acme\r\nForwarded: host=acme.localhost\r\n": 404,
}


def test_a_request_line_leads_to_one_tenant_or_to_nobody_and_holds_the_longest_search(tenants: list[Tenant]) -> None:
    """Case T14, by the web server's own parser."""
    for head, status in HEADS.items():
        with socket.create_connection(("127.0.0.1", tenants[0].web.port), timeout=20) as connection:
            connection.sendall(f"{head}Connection: close\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            body = answer.read().decode()
        assert answer.status == status, head
        if status != 200:
            assert answer.headers["Set-Cookie"] is None
            assert not [name for name in WORDS if name in body], head

    for letter in ("\u00f6", "\u5b57", "\U0001f5dd"):
        tenants[0].get(f"/api/documents?q={quote(letter * 500)}", 200, has_word=False)
    assert tenants[0].wrong == []
