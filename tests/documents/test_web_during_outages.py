"""A real web server whose storage hangs or breaks off: the rest is served, and nothing passes for whole (D29, D30)."""

import http.client
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken
from documents.models import DocumentVersion
from documents.storage import ObjectStore
from tests.documents.servers import S3Server, s3_environment
from tests.documents.web import WebClient, WebServer
from tests.faults.proxy import FaultyConnection
from tests.stopwatch import Stopwatch

LIMITS = {"DMS_S3_CONNECT_TIMEOUT": "1s", "DMS_S3_READ_TIMEOUT": "2s", "DMS_STORAGE_TIMEOUT": "3s"}


@pytest.fixture
def client(
    committed_db: None,
    s3_server: S3Server,
    connection_to_s3: FaultyConnection,
    database_url: str,
    tmp_path: Path,
) -> Iterator[WebClient]:
    server = WebServer(database_url, tmp_path / "unused", **s3_environment(connection_to_s3.port), **LIMITS)
    with use("acme"):
        token = ApiToken.objects.issue(User.objects.create_user("alice"), "test")[1]
    yield WebClient(server, "acme", token)
    connection_to_s3.mode = "pass"
    server.stop()


def test_while_the_storage_hangs_lists_are_served_and_uploads_and_downloads_answered_in_time(
    client: WebClient, connection_to_s3: FaultyConnection
) -> None:
    document_id = json.load(client.upload(b"stored before"))["id"]
    connection_to_s3.mode = "silence"
    ended, answers = threading.Event(), []

    def insist(number: int) -> None:
        while not ended.is_set():
            with Stopwatch() as watch:
                if number % 2:
                    answer = client.upload(b"%d" % number)
                else:
                    answer = client.request("GET", f"/api/documents/{document_id}/download")
                answer.read()
                answers.append((answer.status, watch.seconds))

    threads = [threading.Thread(target=insist, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    lists = []
    # However slow the machine: both are waited for, so that the lists below were served beside requests that hang.
    while len(lists) <= 20 or len([status for status, seconds in list(answers) if seconds > 2]) < 12:
        with Stopwatch() as watch:
            lists.append((client.request("GET", "/api/documents").status, watch.seconds))
        time.sleep(0.1)
    ended.set()
    for thread in threads:
        thread.join()
    connection_to_s3.mode = "pass"
    assert {status for status, _ in answers} == {503}
    assert max(seconds for _, seconds in answers) < 10
    assert [status for status, _ in lists if status != 200] == []
    assert sorted(seconds for _, seconds in lists)[len(lists) * 95 // 100] < 1.5
    assert client.upload(b"afterwards").status == 201


@pytest.mark.parametrize("cut_after", [300_000, 2**20])
def test_a_download_that_breaks_off_is_seen_to_be_incomplete_by_its_client(
    client: WebClient, connection_to_s3: FaultyConnection, cut_after: int
) -> None:
    document_id = json.load(client.upload(os.urandom(2**21).replace(b"-", b"+")))["id"]
    connection_to_s3.cut_after, connection_to_s3.mode = cut_after, "cut"
    answer = client.request("GET", f"/api/documents/{document_id}/download")
    assert answer.status == 200
    with pytest.raises(http.client.IncompleteRead):
        answer.read()


def test_an_object_with_other_content_of_the_same_length_is_never_sent_whole(
    client: WebClient, s3_store: ObjectStore
) -> None:
    for size in (1000, 2**20):
        document_id = json.load(client.upload(b"+" * size))["id"]
        with use("acme"):
            key = DocumentVersion.objects.get(size_bytes=size).storage_key
        s3_store._client.put_object(Bucket="documents", Key=key, Body=b"-" * size)  # type: ignore[attr-defined]
        answer = client.request("GET", f"/api/documents/{document_id}/download")
        if size == 1000:
            assert (answer.status, json.load(answer)["code"]) == (410, "original_damaged")
        else:
            with pytest.raises(http.client.IncompleteRead):
                answer.read()
