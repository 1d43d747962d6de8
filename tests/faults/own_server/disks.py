"""Small disks that a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.own_server.server import OwnServer


@contextmanager
def small_disk(server: OwnServer, megabytes: int) -> Iterator[Path]:
    """Yield a disk beside the server's files; skip the test where none may be mounted."""
    disk = server.embedded.home.base / "small_disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(disk)]
    try:
        if subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("a disk of its own needs the right to mount one")
        try:
            yield disk
        finally:
            subprocess.run(["umount", str(disk)], check=True)
    finally:
        disk.rmdir()


def give_to_the_server(server: OwnServer, path: Path) -> None:
    if account := server.embedded.home.account:
        os.chown(path, account.pw_uid, account.pw_gid)
