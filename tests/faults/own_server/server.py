"""A PostgreSQL of the tests' own, which they may stop, crash and starve."""

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from django.db import connection
from psycopg.sql import SQL, Identifier, Literal

from scripts.postgres import EmbeddedPostgres
from tests.faults.proxy import FaultyConnection
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import ROOT, TENANTS, environment

_SET_UP = """
import sys
import django
django.setup()
from django.core.management import call_command
from dms_project.tenancy.schemas import create_tenant
call_command("migrate", verbosity=0)
for name in sys.argv[1:]:
    create_tenant(name, f"{name}.localhost")
"""


class OwnServer:
    """Runs until ``remove``; has the tables of ``public`` and of both tenants."""

    def __init__(self, folder: Path) -> None:
        self.embedded = EmbeddedPostgres(folder, durable=False)
        self.embedded.prepare()
        self.log = folder / "log"
        self.start()
        variables = environment(self.url, folder / "ledger")
        subprocess.run([sys.executable, "-c", _SET_UP, *TENANTS], cwd=ROOT, env=variables, check=True)

    @property
    def url(self) -> str:
        """Where it can be reached without detours."""
        return self.embedded.url

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.embedded.command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.embedded.wait_ready(self.process)

    @property
    def postmaster(self) -> int:
        """Its process id; the server's other processes are its children."""
        return int((self.embedded.home.data / "postmaster.pid").read_text().partition("\n")[0])

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT fast, SIGQUIT at once, as a crash of the machine would."""
        connection.close()  # the test's own, which would fail at its next use
        with suppress(psutil.NoSuchProcess):
            psutil.Process(self.process.pid).send_signal(how)
        self.process.wait(30)

    def crash(self, *, slowly: bool = False) -> None:
        """Kill one of its processes, as the out-of-memory killer would: it ends all sessions and recovers.

        Slowly: one of its processes doesn't end until the server kills it after 5 s.
        """
        connection.close()
        session = self.connect()
        others = psutil.Process(self.postmaster).children()
        writer = next(process for process in others if "walwriter" in " ".join(process.cmdline()))
        if slowly:
            writer.suspend()
        psutil.Process(session.info.backend_pid).kill()
        writer.wait(30)
        session.close()

    def wait_ready(self) -> None:
        """Wait until it takes connections again."""
        self.embedded.wait_ready(self.process)

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        self.embedded.home.remove()

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    def execute(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement as the superuser, in no tenant."""
        with self.connect() as session:
            cursor = session.execute(statement, parameters)  # type: ignore[arg-type]  # the tests' own text
            return cursor.fetchall() if cursor.description else []

    def set(self, name: str, value: str) -> None:
        """Change a setting for everybody, also for sessions that are open."""
        with self.connect() as session:
            session.execute(SQL("ALTER SYSTEM SET {} = {}").format(Identifier(name), Literal(value)))
            session.execute("SELECT pg_reload_conf()")
        eventually(lambda: self.execute(f"SHOW {name}") == [(value,)], what=f"{name} is {value}")

    def as_it_was(self) -> None:
        """Make it ready for the next test: running, stock settings, no jobs, no sessions."""
        if not self.running:
            self.start()
        with self.connect() as session:
            session.execute("ALTER SYSTEM RESET ALL")
            session.execute("SELECT pg_reload_conf()")
        eventually(lambda: self.execute("SHOW default_transaction_read_only") == [("off",)])
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        tables = ", ".join(f"{schema}.processing_jobs" for schema in ("public", *TENANTS))
        self.execute(f"TRUNCATE {tables} RESTART IDENTITY")

    def behind_a_proxy(self) -> FaultyConnection:
        """Return a connection to it that can fail; to be closed."""
        return FaultyConnection(5432, str(self.embedded.home.socket_dir))
