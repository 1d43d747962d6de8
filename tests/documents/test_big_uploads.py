"""Large files and bounded memory (D25), with a real web server."""

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from django.contrib.auth.models import User

from dms_project.tenancy import use
from dms_project.tokens.models import ApiToken
from documents.storage import ObjectStore
from tests.documents.servers import S3Server, s3_environment
from tests.documents.web import WebClient, WebServer
from tests.stopwatch import Stopwatch

MIB = 2**20
SIZE = 96 * MIB
_CHUNK = bytes(range(256)) * 4096  # 1 MiB


def chunks(first: bytes, size: int = SIZE) -> Iterator[bytes]:
    """Yield a file of this size, a MiB at a time, that begins with ``first``."""
    yield first + _CHUNK[len(first) :]
    for _ in range(size // MIB - 1):
        yield _CHUNK


def client(web: WebServer) -> WebClient:
    with use("acme"):
        user, _ = User.objects.get_or_create(username="alice")
        return WebClient(web, "acme", ApiToken.objects.issue(user, "test")[1])


class Peak:
    """The most memory that a server used while the block ran, above what it used before."""

    def __init__(self, web: WebServer) -> None:
        self._web = web
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> "Peak":
        self._before = self._peak = self._web.memory_bytes()
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.02):
            self._peak = max(self._peak, self._web.memory_bytes())

    @property
    def growth(self) -> int:
        return self._peak - self._before


@pytest.fixture(params=["local", "s3"])
def web(request: pytest.FixtureRequest, committed_db: None, database_url: str, tmp_path: Path) -> Iterator[WebServer]:
    environment = {}
    if request.param == "s3":
        request.getfixturevalue("s3_store")
        s3: S3Server = request.getfixturevalue("s3_server")
        environment = s3_environment(s3.port)
    server = WebServer(database_url, tmp_path / "storage", **environment)
    yield server
    server.stop()


def test_a_large_file_goes_in_and_comes_out_without_being_held_in_memory(web: WebServer) -> None:
    alice = client(web)
    alice.upload(b"first, so that everything is loaded").read()
    with Peak(web) as peak:
        started = time.monotonic()
        answer = alice.upload(chunks(b"large"), SIZE)
        assert answer.status == 201
        assert time.monotonic() - started < 60
        document = alice.get_json("/api/documents")["items"][0]
        digest = hashlib.sha256()
        download = alice.request("GET", f"/api/documents/{document['id']}/download")
        while chunk := download.read(MIB):
            digest.update(chunk)
    assert digest.hexdigest() == document["sha256"]
    assert document["size_bytes"] == SIZE
    assert peak.growth < 30 * MIB


def test_several_large_files_at_a_time_stay_within_bounds(web: WebServer) -> None:
    clients = [client(web) for _ in range(4)]
    clients[0].upload(b"first, so that everything is loaded").read()
    statuses: list[int] = []

    def upload(number: int) -> None:
        statuses.append(clients[number].upload(chunks(b"file %d" % number, 32 * MIB), 32 * MIB).status)

    threads = [threading.Thread(target=upload, args=(number,)) for number in range(4)]
    with Peak(web) as peak:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert statuses == [201] * 4
    assert peak.growth < 60 * MIB


@pytest.fixture
def small_web(committed_db: None, database_url: str, tmp_path: Path) -> Iterator[WebServer]:
    """A server that takes files of up to 3 MiB."""
    (tmp_path / "temporary").mkdir()
    temporary = {"TMPDIR": str(tmp_path / "temporary")}
    server = WebServer(database_url, tmp_path / "storage", DMS_MAX_UPLOAD_BYTES=str(3 * MIB), **temporary)
    yield server
    server.stop()


def raw_request(web: WebServer, token_of: WebClient, framing: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", web.port), timeout=20)
    headers = "".join(f"{name}: {value}\r\n" for name, value in token_of._headers.items()).encode()
    connection.sendall(
        b"POST /api/documents HTTP/1.1\r\n"
        + headers
        + b"Content-Type: multipart/form-data; boundary=B\r\n"
        + framing
        + b"\r\n"
    )
    return connection


def test_a_declared_size_that_is_too_large_is_refused_before_the_file_is_sent(small_web: WebServer) -> None:
    connection = raw_request(small_web, client(small_web), b"Content-Length: 5000000000\r\n")
    with connection:
        assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def test_a_size_that_is_not_declared_is_asked_for(small_web: WebServer) -> None:
    with raw_request(small_web, client(small_web), b"Transfer-Encoding: chunked\r\n") as connection:
        connection.sendall(b"5\r\n--B\r\n\r\n0\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 411")


def test_a_refused_or_broken_upload_leaves_no_temporary_file(
    small_web: WebServer, tmp_path: Path, local_store: ObjectStore
) -> None:
    alice = client(small_web)
    # Counted rather than believed: the size that is declared is within what a form with a small file has.
    assert alice.upload([*chunks(b"x", 3 * MIB), b"and more"], 3 * MIB + 8).status == 413
    with raw_request(small_web, alice, b"Content-Length: 2000000\r\n") as connection:
        connection.sendall(b'--B\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n' + b"x" * 400_000)
        eventually(lambda: len(open_uploads(small_web, tmp_path)) == 1)
    eventually(lambda: not open_uploads(small_web, tmp_path))
    assert list((tmp_path / "temporary").iterdir()) == []
    assert list(local_store.list_keys()) == []


def eventually(holds: Callable[[], bool]) -> None:
    with Stopwatch() as watch:
        while not holds():
            assert watch.seconds < 10
            time.sleep(0.05)


def open_uploads(web: WebServer, folder: Path) -> list[str]:
    """The temporary files that the server has open. They have no names, but the folder that they are in is known."""
    process = psutil.Process(web.process.pid)
    processes = [process, *process.children(recursive=True)]
    links = [link for each in processes for link in Path(f"/proc/{each.pid}/fd").iterdir()]
    opened = [os.readlink(link) for link in links if link.is_symlink()]
    return [path for path in opened if path.startswith(f"{folder}/temporary/") and "gunicorn" not in path]
