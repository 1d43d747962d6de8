"""The same bytes at the same time (D22), sent to a real web server."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken
from documents.models import AuditEntry, Document
from documents.storage import ObjectStore
from jobqueue.models import ProcessingJob
from tests.documents.web import WebClient, WebServer


@pytest.fixture
def web(committed_db: None, database_url: str, tmp_path: Path) -> Iterator[WebServer]:
    server = WebServer(database_url, tmp_path / "storage")
    yield server
    server.stop()


def client(web: WebServer, tenant: str, name: str = "alice") -> WebClient:
    with use(tenant):
        user, _ = User.objects.get_or_create(username=name)
        return WebClient(web, tenant, ApiToken.objects.issue(user, "test")[1])


def upload_at_once(clients: list[WebClient], contents: list[bytes]) -> list[tuple[int, dict[str, object]]]:
    answers: list[tuple[int, dict[str, object]]] = []
    barrier = threading.Barrier(len(clients))

    def upload(one: WebClient, content: bytes) -> None:
        barrier.wait()
        answer = one.upload(content)
        answers.append((answer.status, json.load(answer)))

    threads = [threading.Thread(target=upload, args=pair) for pair in zip(clients, contents, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_of_ten_equal_uploads_one_makes_a_document_and_nine_are_told_which(
    web: WebServer, local_store: ObjectStore
) -> None:
    users = [client(web, "acme", name) for name in ("alice", "bob")]
    for attempt in range(3):
        answers = upload_at_once(users * 5, [b"round %d" % attempt * 50_000] * 10)
        assert sorted(status for status, _ in answers) == [200] * 9 + [201]
        assert len({body["id"] for _, body in answers}) == 1
        assert [body["duplicate"] for status, body in answers if status == 200] == [True] * 9
    with use("acme"):
        assert Document.objects.count() == 3
        assert ProcessingJob.objects.count() == 3
        keys = sorted(version.storage_key for each in Document.objects.all() for version in each.versions.all())
        assert AuditEntry.objects.filter(action="uploaded_again").count() == 27
    assert sorted(local_store.list_keys()) == keys


def test_two_tenants_have_a_document_each(web: WebServer) -> None:
    answers = upload_at_once([client(web, "acme"), client(web, "globex")] * 3, [b"the same everywhere"] * 6)
    assert sorted(status for status, _ in answers) == [200] * 4 + [201] * 2
    for tenant in ("acme", "globex"):
        with use(tenant):
            assert Document.objects.count() == 1


def test_different_files_of_one_name_stay_apart(web: WebServer, local_store: ObjectStore) -> None:
    contents = [b"content %d" % number for number in range(10)]
    answers = upload_at_once([client(web, "acme")] * 10, contents)
    assert [status for status, _ in answers] == [201] * 10
    stored = [b"".join(local_store.open(key)) for key in list(local_store.list_keys())]
    assert sorted(stored) == sorted(contents)


def test_head_is_answered_without_a_body(web: WebServer) -> None:
    alice = client(web, "acme")
    document_id = json.load(alice.upload(b"content"))["id"]
    paths = [f"/api/documents{path}" for path in ("", f"/{document_id}", f"/{document_id}/download")]
    for path in (*paths, "/healthz", "/readyz", "/login/", "/static/documents/pages.css"):
        head, _, body = alice.raw("HEAD", path).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), path
        assert b"Content-Length: 0" not in head
        assert body == b""
    assert "WARNING" not in web.log.read_text()
