"""A real PgBouncer between workers and PostgreSQL."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from scripts.leash import leashed
from tests.documents.servers import free_ports
from tests.faults.proxy import FaultyConnection
from tests.jobqueue.waiting import eventually
from tests.need import need

_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server_port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 200
server_login_retry = 1
"""


class PgBouncer:
    """Pools the connections to the database that ``url`` names.

    Args:
        url: The database's own.
        proxy: Through which it reaches PostgreSQL.
        mode: ``transaction`` or ``session``.
        size: Most sessions on PostgreSQL.
    """

    def __init__(self, url: str, proxy: FaultyConnection, *, mode: str = "transaction", size: int = 4) -> None:
        address = urlsplit(url)
        (self.port,) = free_ports(1)
        self.url = address._replace(netloc=f"{address.username}@127.0.0.1:{self.port}").geturl()
        self._folder = Path(tempfile.mkdtemp())
        self._folder.chmod(0o755)  # it refuses to run as root, so somebody else must be able to read its settings
        (self._folder / "pgbouncer.ini").write_text(
            _SETTINGS.format(server_port=proxy.port, user=address.username, port=self.port, mode=mode, size=size)
        )
        self.start()

    def start(self) -> None:
        account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                leashed([need("pgbouncer"), str(self._folder / "pgbouncer.ini")], account=account),
                cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        eventually(self._answers, what=f"PgBouncer answers: {(self._folder / 'log').read_text()}")

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """End it and every connection through it at once."""
        self._process.kill()
        self._process.wait()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder)

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, autocommit=True)
