"""The product's web server as a process of its own, and a client that sends files of any size."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from scripts.leash import leashed
from tests.documents.servers import free_ports

ROOT = Path(__file__).parent.parent.parent
GUNICORN = ("-m", "gunicorn", "-c", "python:dms_project.gunicorn_conf", "dms_project.wsgi")
_HEAD = b'--B\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n'
_TAIL = b"\r\n--B--\r\n"


class WebServer:
    """gunicorn with the project's configuration."""

    def __init__(self, database_url: str, storage: Path, **environment: str) -> None:
        [self.port] = free_ports(1)
        self.log = storage.parent / "web.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                leashed([sys.executable, *GUNICORN]),
                cwd=ROOT,
                env=os.environ
                | {
                    "DATABASE_URL": database_url,
                    "DJANGO_DEBUG": "true",
                    "DJANGO_SETTINGS_MODULE": "dms_project.settings",
                    "DMS_STORAGE_DIR": str(storage),
                    "PORT": str(self.port),
                }
                | environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The web server did not start:\n{self.log.read_text()[-3000:]}")
            time.sleep(0.05)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def memory_bytes(self) -> int:
        """Resident memory of all its processes that is not shared between them."""
        process = psutil.Process(self.process.pid)
        return sum(each.memory_full_info().uss for each in [process, *process.children(recursive=True)])


class WebClient:
    """A user with a token at a tenant's host."""

    def __init__(self, server: WebServer, tenant: str, token: str) -> None:
        self._port = server.port
        self._headers = {"Host": f"{tenant}.localhost", "Authorization": f"Bearer {token}"}

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with suppress(BrokenPipeError, ConnectionResetError):  # an answer before everything was sent
            connection.request(method, path, body, self._headers | headers)
        return connection.getresponse()

    def raw(self, method: str, path: str) -> bytes:
        """Return everything that the server sends until it closes the connection."""
        headers = self._headers | {"Connection": "close"}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        with socket.create_connection(("127.0.0.1", self._port), timeout=20) as connection:
            connection.sendall("\r\n".join([*lines, "", ""]).encode())
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def get_json(self, path: str) -> Any:
        return json.load(self.request("GET", path))

    def upload(
        self, chunks: bytes | Iterable[bytes], size: int | None = None, name: str = "file.bin"
    ) -> http.client.HTTPResponse:
        """Upload a file.

        Args:
            size: Of all chunks, if they are not one piece.
        """
        head = _HEAD % name.encode()
        if isinstance(chunks, bytes):
            size, chunks = len(chunks), [chunks]
        length = len(head) + (size or 0) + len(_TAIL)
        headers = {"Content-Type": "multipart/form-data; boundary=B", "Content-Length": str(length)}

        def body() -> Iterator[bytes]:
            yield head
            yield from chunks
            yield _TAIL

        return self.request("POST", "/api/documents", body(), **headers)
