"""No secret reaches a log: a whole run, with failures and bad logins, and all that it printed is read."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.db import connection

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.documents.servers import BUCKET, KEY, SECRET, S3Server, s3_storage, use_storage
from tests.house.clone import eventually
from tests.pages.site import ROOT, Site

PASSWORD = "password-of-ada-4711"
WRONG_PASSWORD = "password-mistyped-4711"
WRONG_TOKEN = "dms_token-mistyped-4711"
IN_A_HEADER = "token-in-a-broken-header-4711"
METRICS_TOKEN = "token-for-the-metrics-4711"
DATABASE_PASSWORD = "password-of-the-database-4711"
DJANGO_KEY = "django-secret-key-4711-0123456789-abcdefghijklmnopqrstuvwxyz"
SEARCH = "searched-for-4711"
FILE_NAME = "file-name-4711"
CONTENT = "content-4711"
PAYLOAD = "payload-4711"
IDEMPOTENCY_KEY = "idempotency-key-4711"


@pytest.fixture
def s3(tmp_path: Path, settings: Any) -> Iterator[S3Server]:
    folder = tmp_path / "s3"
    folder.mkdir()
    server = S3Server(folder)
    server.wait_until_ready(use_storage(settings, s3_storage(server.port)))
    yield server
    server.stop()


@pytest.fixture
def url(database_url: str) -> str:
    """The test database, with a password, which its server doesn't ask for."""
    return re.sub(r"//([^:@]+)(:[^@]*)?@", rf"//\1:{DATABASE_PASSWORD}@", database_url)


@pytest.fixture
def site(url: str, s3: S3Server, committed_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Web server and worker in which everything that can be is secret, and which log all they ever would."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "DJANGO_SECRET_KEY": DJANGO_KEY,
        "DMS_LOG_FORMAT": "json",  # which says all that text does, and more
        "DMS_LOG_LEVEL": "DEBUG",
        "DMS_METRICS_TOKEN": METRICS_TOKEN,
        "DMS_S3_BUCKET": BUCKET,
        "DMS_S3_ENDPOINT_URL": f"http://127.0.0.1:{s3.port}",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    site = Site(url, tmp_path)
    yield site
    site.stop()


class Caller:
    """Speaks HTTP to acme, and remembers the cookies it was given."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
        session = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        session.request(method, path, body, {"Host": "acme.localhost", "Cookie": cookies} | headers)
        response = session.getresponse()
        for header in response.headers.get_all("Set-Cookie") or []:
            name, value = header.split(";")[0].split("=", 1)
            self.cookies[name] = value
        text = response.read().decode(errors="replace")
        session.close()
        return response.status, text

    def log_in(self, password: str) -> int:
        form = {"username": "ada", "password": password, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        kind = "application/x-www-form-urlencoded"
        return self.send("POST", "/login/", urlencode(form).encode(), **{"Content-Type": kind})[0]

    def upload(self, token: str) -> tuple[int, str]:
        head = f'--B\r\nContent-Disposition: form-data; name="file"; filename="{FILE_NAME}.txt"\r\n\r\n'
        body = f"{head}{CONTENT}\r\n--B--\r\n".encode()
        kind = {"Content-Type": "multipart/form-data; boundary=B", "Authorization": f"Bearer {token}"}
        return self.send("POST", "/api/documents", body, **kind)

    def send_garbage(self, text: str) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as session:
            session.sendall(text.encode())
            session.recv(100)


def work(site: Site, s3: S3Server, caller: Caller, token: str) -> None:
    """Do what a day brings, and whatever goes wrong."""
    authorized = {"Authorization": f"Bearer {token}"}
    assert caller.send("GET", "/login/")[0] == 200
    assert caller.log_in(WRONG_PASSWORD) == 200
    assert caller.log_in(PASSWORD) == 302
    assert caller.send("GET", f"/?q={SEARCH}")[0] == 200
    assert caller.send("GET", "/api/documents", Authorization=f"Bearer {WRONG_TOKEN}")[0] == 401
    assert caller.send("GET", f"/api/documents?q={SEARCH}", **authorized)[0] == 200
    for metrics_token, status in ((METRICS_TOKEN, 200), (WRONG_TOKEN, 401)):
        assert caller.send("GET", "/metrics", Authorization=f"Bearer {metrics_token}")[0] == status
    caller.send_garbage(f"GET /?token={IN_A_HEADER}\r\n\r\n")
    caller.send_garbage(f"GET / HTTP/1.1\r\nHost: acme.localhost\r\nAuthorization: {IN_A_HEADER}\x00\r\n\r\n")

    status, answer = caller.upload(token)
    assert status == 201, answer
    job_id = json.loads(answer)["job_id"]
    with site.worker():
        with use("acme"):
            failing = Queue().enqueue("test.dead_letter", {"key": PAYLOAD}, idempotency_key=IDEMPOTENCY_KEY).pk
            for each in (job_id, failing):
                eventually(lambda pk=each: Queue().status(pk) in ("succeeded", "dead_letter"))
        s3.stop()
        download = f"/api/documents/{json.loads(answer)['id']}/download"
        assert caller.send("GET", download, **authorized)[0] == 503
        with use("acme"):
            ProcessingJob.objects.filter(pk=job_id).update(
                status="pending", finished_at=None, attempts=0, lock_token=None
            )
            eventually(lambda: Queue().get(job_id).last_error)
    execute("ALTER TABLE acme.documents_document RENAME TO elsewhere")
    try:
        assert caller.send("GET", f"/api/documents?q={SEARCH}", **authorized)[0] == 500
    finally:
        execute("ALTER TABLE acme.elsewhere RENAME TO documents_document")


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def without_a_database(url: str) -> str:
    """Return what programs say whose database is away; a worker waits for it, and says so."""
    environment = os.environ | {"DATABASE_URL": re.sub(r"@[^/]*/", "@127.0.0.1:1/", url)}
    said = ""
    for command in ("migrate", "runworker"):
        with subprocess.Popen(
            [sys.executable, "manage.py", command],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            assert process.stdout
            for line in process.stdout:
                said += line
                if "trying on" in line:
                    process.kill()
    assert "can't be reached" in said
    assert "trying on" in said
    return said


def test_no_secret_is_ever_logged(site: Site, s3: S3Server, url: str, tmp_path: Path) -> None:
    with use("acme"):
        ada = User.objects.create_superuser("ada", password=PASSWORD)
        token = ApiToken.objects.issue(ada, "test")[1]
    caller = Caller(site.port)

    work(site, s3, caller, token)
    site.stop()

    log = (tmp_path / "web.log").read_text() + (tmp_path / "worker.log").read_text()
    secrets = {
        "API token": token,
        "session id": caller.cookies["sessionid"],
        "CSRF cookie": caller.cookies["csrftoken"],
        "S3 secret": SECRET,
        **{name: value for name, value in globals().items() if isinstance(value, str) and "4711" in value},
    }
    said = log + without_a_database(url)
    assert {name for name, value in secrets.items() if value in said} == set()

    events = [json.loads(line) for line in log.splitlines()]
    assert all(event["message"] for event in events)
    for expected in ("Traceback", "succeeded", "dead_letter", '"status_code": 401', "InvalidHeader", "503 GET"):
        assert expected in log, expected
