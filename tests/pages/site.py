"""The product, running: web server and worker on the test database."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scripts.leash import leashed
from tests.documents.servers import prepare_folder
from tests.programs import Program, manage

ROOT = Path(__file__).resolve().parents[2]


class Site:
    """A web server, and a worker that can be stopped and started."""

    def __init__(self, database_url: str, folder: Path) -> None:
        self._folder = folder
        self.storage = folder / "storage"
        self.port = _free_port()
        self._environment = os.environ | {
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "tests.pages.settings",
            "DMS_STORAGE_DIR": str(self.storage),
            "DMS_MAX_UPLOAD_BYTES": str(2**20),
            "PORT": str(self.port),
        }
        prepare_folder(self.storage)
        gunicorn = ["-m", "gunicorn", "-c", "python:dms_project.gunicorn_conf", "dms_project.wsgi"]
        with (folder / "web.log").open("wb") as log:
            self._web = subprocess.Popen(
                leashed([sys.executable, *gunicorn]), cwd=ROOT, env=self._environment, stdout=log, stderr=log
            )
        self._wait_until_served()

    def url(self, tenant: str, path: str = "/") -> str:
        host = "localhost" if tenant == "public" else f"{tenant}.localhost"
        return f"http://{host}:{self.port}{path}"

    @contextmanager
    def worker(self) -> Iterator[None]:
        """Have documents read, while the block lasts."""
        with (self._folder / "worker.log").open("ab") as log:
            worker = manage(["runworker"], self._environment, log)
        try:
            yield
        finally:
            _stop(worker)

    def stop(self) -> None:
        _stop(self._web)

    def _wait_until_served(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            except OSError as error:
                if self._web.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self._folder / "web.log").read_text()[-3000:]) from error
            finally:
                connection.close()
            time.sleep(0.05)


def _stop(process: Program) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
