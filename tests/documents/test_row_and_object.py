"""Row and object stay together, whatever fails in between (D27)."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from dms_project.tenancy import use
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from dms_project.tokens.models import ApiToken
from documents import ingest as ingest_module
from documents.models import Document, DocumentVersion
from documents.storage import ObjectStore
from jobqueue.models import ProcessingJob
from tests.documents.http import Api
from tests.documents.web import WebClient, WebServer
from tests.documents.work import work_off
from tests.faults.proxy import FaultyConnection


def assert_consistent(store: ObjectStore) -> None:
    """I6: every row has its object, every object its row."""
    named = {key for keys in DocumentVersion.objects.values_list("storage_key", "thumbnail_key") for key in keys if key}
    assert set(store.list_keys()) == named
    assert ProcessingJob.objects.count() == Document.objects.count()


# The storage fails


@pytest.mark.parametrize("size", [10, 17 * 2**20], ids=["in one piece", "in parts"])
def test_a_storage_that_fails_leaves_nothing_and_the_retry_works(
    connection_to_s3: FaultyConnection, s3_store: ObjectStore, api: Api, tenant: str, size: int
) -> None:
    content = tenant.encode() * (size // 4)
    before = set(s3_store.list_keys())
    connection_to_s3.mode = "cut"
    for connection_to_s3.cut_after in (0, 100):
        answer = api.upload(content)
        assert answer.status_code == 503
        assert answer.json() == {
            "detail": "The documents' storage can't be reached. Try again.",
            "code": "storage_unavailable",
        }
        assert answer["Retry-After"] == "5"
        assert not Document.objects.exists()
        assert not ProcessingJob.objects.exists()
    connection_to_s3.mode = "pass"
    created = api.upload(content)
    assert created.status_code == 201
    known = DocumentVersion.objects.get()
    # What a broken answer left behind belongs to no row; nothing refers to what isn't there.
    assert s3_store.size(known.storage_key) == known.size_bytes
    assert len(set(s3_store.list_keys()) - before) <= 3


# The transaction fails


@pytest.mark.parametrize("moment", ["audit.record", "enqueue_processing"])
def test_what_was_certainly_rolled_back_leaves_no_object(
    api: Api, local_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("after the row was written")

    monkeypatch.setattr(f"documents.ingest.{moment}", fail)
    api.client.raise_request_exception = False
    assert api.upload(b"content").status_code == 500
    assert list(local_store.list_keys()) == []
    assert not Document.objects.exists()
    monkeypatch.undo()
    assert_consistent(local_store)


def test_an_object_that_cannot_be_removed_is_named_in_the_log(
    api: Api,
    connection_to_s3: FaultyConnection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        connection_to_s3.mode = "refuse"
        raise RuntimeError("after the row was written")

    monkeypatch.setattr(ingest_module, "enqueue_processing", fail)
    api.client.raise_request_exception = False
    assert api.upload(b"content").status_code == 500
    assert "belongs to no document and could not be removed" in caplog.text


@contextmanager
def at_commit(tenant: str, statement: str) -> Iterator[None]:
    """Have the database do something when a transaction that wrote a document commits."""
    with use(tenant), connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"{statement}; RETURN NULL; END $$;"
            "CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON documents_document "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_commit()"
        )
    try:
        yield
    finally:
        connection.close()
        with use(tenant), connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER at_commit ON documents_document; DROP FUNCTION at_commit()")


@pytest.fixture
def committing_api(committed_db: None) -> Api:
    with use("acme"):
        return Api("acme", User.objects.create_user("alice"))


def test_a_connection_cut_at_commit_keeps_the_object_since_nobody_knows(
    committing_api: Api, local_store: ObjectStore, caplog: pytest.LogCaptureFixture
) -> None:
    with at_commit("acme", "PERFORM pg_terminate_backend(pg_backend_pid())"):
        assert committing_api.upload(b"content").status_code == 503
    assert "Nobody knows" in caplog.text
    assert len(list(local_store.list_keys())) == 1
    with use("acme"):
        assert not Document.objects.exists()
    again = committing_api.upload(b"content")
    assert (again.status_code, again.json()["duplicate"]) == (201, False)


def test_a_commit_that_the_database_refuses_leaves_no_object(committing_api: Api, local_store: ObjectStore) -> None:
    committing_api.client.raise_request_exception = False
    with at_commit("acme", "RAISE EXCEPTION 'no' USING ERRCODE = 'integrity_constraint_violation'"):
        assert committing_api.upload(b"content").status_code == 500
    assert list(local_store.list_keys()) == []


@pytest.fixture
def proxied_web(committed_db: None, database_url: str, tmp_path: Path) -> Iterator[tuple[WebServer, FaultyConnection]]:
    """A web server whose connection to the database can fail."""
    address = urlsplit(database_url)
    # Not the URL's host name, which is made lower case: a folder's name is not to be changed.
    proxy = FaultyConnection(address.port or 5432, connection.settings_dict["HOST"] or "127.0.0.1")
    through = address._replace(netloc=f"{address.username}@127.0.0.1:{proxy.port}")
    server = WebServer(through.geturl(), tmp_path / "storage")
    yield server, proxy
    server.stop()
    proxy.close()


def test_when_the_answer_to_the_commit_is_lost_the_document_is_there_and_the_retry_finds_it(
    proxied_web: tuple[WebServer, FaultyConnection], local_store: ObjectStore
) -> None:
    web, proxy = proxied_web
    with use("acme"):
        client = WebClient(web, "acme", ApiToken.objects.issue(User.objects.create_user("alice"), "test")[1])
    lost = proxy.when(b"COMMIT", "lose the answer")
    assert client.upload(b"content").status == 503
    assert lost.fired.is_set()
    with use("acme"):
        assert Document.objects.count() == 1
        assert_consistent(local_store)
    again = client.upload(b"content")
    assert (again.status, json.load(again)["duplicate"]) == (200, True)
    with use("acme"):
        assert_consistent(local_store)


def test_an_upload_inside_a_transaction_is_refused(committed_db: None) -> None:
    with use("acme"):
        api = Api("acme", User.objects.create_user("alice"))
        api.client.raise_request_exception = True
        with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
            api.upload(b"content")


def test_deleting_a_tenant_deletes_its_objects_and_nobody_elses(committed_db: None, store: ObjectStore) -> None:
    create_tenant("passing", "passing.localhost")
    with use("passing"):
        Api("passing", User.objects.create_user("bob")).upload(b"of passing")
    with use("acme"):
        Api("acme", User.objects.create_user("alice")).upload(b"of acme")
    delete_tenant("passing")
    assert list(store.list_keys("passing/")) == []
    assert len(list(store.list_keys("acme/"))) >= 1


def test_a_document_whose_object_is_damaged_is_not_read_but_retried(
    api: Api, tmp_path: Path, local_store: ObjectStore
) -> None:
    api.upload(b"the right content")
    [file] = (tmp_path / "storage").rglob("original")
    file.write_bytes(b"the wrong content")
    [job] = work_off()
    assert job.status == "pending"
    assert "is not what was stored" in job.last_error
    file.write_bytes(b"the right content")
    ProcessingJob.objects.update(available_at="2000-01-01T00:00Z")
    [job] = work_off()
    assert job.status == "succeeded"
    assert Document.objects.get().status == "ready"
