"""A real S3 server."""

import os
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

from django.core.files.storage import FileSystemStorage, storages

from documents.storage import ObjectStore, object_store
from documents.storage._local import LocalStore
from scripts.leash import leashed

KEY, SECRET, BUCKET = "test-key", "test-secret-key", "documents"
_PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "admin.port",
    "admin.port.grpc",
)


class S3Server:
    """SeaweedFS in one process, on free ports of the loopback interface."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        self._ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        self.port = self._ports["s3.port"]
        self.start()

    def start(self) -> None:
        """Start it, again with what it had stored, if it was killed."""
        ports = self._ports | {"s3.port.iceberg": 0, "s3.port.lance": 0}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                leashed(
                    [
                        str(Path(sys.executable).parent / "weed"),
                        "mini",
                        f"-dir={self._folder}",
                        "-ip=127.0.0.1",
                        "-ip.bind=127.0.0.1",
                        "-webdav=false",
                        "-admin.ui=false",
                        *(f"-{name}={port}" for name, port in ports.items()),
                    ]
                ),
                cwd=self._folder,
                env={
                    "HOME": str(self._folder),
                    "PATH": os.environ["PATH"],
                    "AWS_ACCESS_KEY_ID": KEY,
                    "AWS_SECRET_ACCESS_KEY": SECRET,
                    "S3_BUCKET": BUCKET,
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self) -> None:
        """Kill it with -9: nothing is written out, no connection closed in good order."""
        self._process.kill()
        self._process.wait()
        self._remove_sockets()

    def wait_until_ready(self, store: ObjectStore, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while True:
            try:
                return store.check()
            except Exception as error:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"The S3 server is not ready:\n{self._log.read_text()[-2000:]}") from error
                time.sleep(0.1)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._remove_sockets()

    def _remove_sockets(self) -> None:
        """Remove the sockets that it makes there, whatever its folder, and leaves there."""
        for port in self._ports.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@cache
def read_services_once() -> None:
    """Spare each further client 0.1 s and 12 MiB: the files that tell what S3 can do are the same for all of them."""
    import botocore.session

    botocore.session.create_loader = cache(botocore.session.create_loader)


def s3_storage(port: int, secret: str = SECRET, bucket: str = BUCKET) -> dict[str, object]:
    """The entry of ``STORAGES`` for a server, as settings.py writes it, but for the time-outs."""
    from botocore.config import Config

    read_services_once()
    return {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": bucket,
            "endpoint_url": f"http://127.0.0.1:{port}",
            "access_key": KEY,
            "secret_key": secret,
            "region_name": "us-east-1",
            "default_acl": None,
            "file_overwrite": False,
            "client_config": Config(
                signature_version="s3v4",
                s3={"addressing_style": "path"},
                request_checksum_calculation="when_required",
                response_checksum_validation="when_required",
                connect_timeout=2,
                read_timeout=1,
                retries={"mode": "standard", "total_max_attempts": 2},
            ),
        },
    }


def http_answer(status: str, body: str) -> bytes:
    """Return what an S3 server says when it says this."""
    head = [f"HTTP/1.1 {status}", "Content-Type: application/xml", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*head, "", body]).encode()


def s3_environment(port: int) -> dict[str, str]:
    """What a program needs in its environment to keep documents on that server."""
    return {
        "DMS_S3_BUCKET": BUCKET,
        "DMS_S3_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }


def use_storage(settings: object, entry: dict[str, object]) -> ObjectStore:
    """Make this the storage of documents for a test."""
    settings.STORAGES = settings.STORAGES | {"documents": entry}  # type: ignore[attr-defined]
    assert storages["documents"]
    store = object_store()
    if not store.is_prepared():
        store.prepare()
    return store


def prepare_folder(folder: Path) -> None:
    """Do what ``documents prepare-storage`` does, for a server that is to be started."""
    LocalStore(FileSystemStorage(folder)).prepare()
