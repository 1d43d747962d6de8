"""A PostgreSQL of the tests' own, which they may stop, crash, starve and replace."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from django.db import connection, connections
from psycopg.sql import SQL, Identifier, Literal

from scripts.postgres import DATABASE, EmbeddedPostgres
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


class Postgres:
    """A server that is running until it is stopped."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)  # as root it holds the log alone
        self.embedded = EmbeddedPostgres(folder, durable=False)
        self.log = folder / "log"

    @property
    def url(self) -> str:
        """Where it can be reached without detours."""
        return self.embedded.url

    @property
    def target(self) -> tuple[str, int]:
        """Where a proxy finds it."""
        return str(self.embedded.home.socket_dir), 5432

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def launch(self) -> None:
        """Start it without waiting for anything."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.embedded.command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT fast, SIGQUIT at once, as a crash of the machine would."""
        connection.close()  # the test's own, which would fail at its next use
        with suppress(psutil.NoSuchProcess):
            psutil.Process(self.process.pid).send_signal(how)
        self.process.wait(30)

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

    def is_what_the_test_uses(self) -> None:
        """Let Django's connection in the test's own process lead here."""
        connections.close_all()
        place = {"HOST": self.target[0], "PORT": "", "USER": "postgres", "NAME": DATABASE, "PASSWORD": ""}
        connections.databases["default"].update(place)


class OwnServer(Postgres):
    """Has the tables of ``public`` and of both tenants."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.embedded.prepare()
        self.start()
        variables = environment(self.url, folder / "ledger")
        subprocess.run([sys.executable, "-c", _SET_UP, *TENANTS], cwd=ROOT, env=variables, check=True)

    def start(self) -> None:
        self.launch()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until it takes connections."""
        self.embedded.wait_ready(self.process)

    def restart(self, **settings: str) -> None:
        """Stop it, and start it with other settings beside the stock ones."""
        if self.running:
            self.stop()
        self.embedded.settings = settings
        self.start()

    def crash(self, *, slowly: bool = False) -> None:
        """Kill one of its processes, as the out-of-memory killer would: it ends all sessions and recovers.

        Slowly: one of its processes doesn't end until the server kills it after 5 s.
        """
        connection.close()
        session = self.connect()
        postmaster = int((self.embedded.home.data / "postmaster.pid").read_text().partition("\n")[0])
        others = psutil.Process(postmaster).children()
        writer = next(process for process in others if "walwriter" in " ".join(process.cmdline()))
        if slowly:
            writer.suspend()
        psutil.Process(session.info.backend_pid).kill()
        writer.wait(30)
        session.close()

    def set(self, name: str, value: str) -> None:
        """Change a setting for everybody, also for sessions that are open."""
        with self.connect() as session:
            session.execute("SET default_transaction_read_only = off")
            session.execute(SQL("ALTER SYSTEM SET {} = {}").format(Identifier(name), Literal(value)))
            session.execute("SELECT pg_reload_conf()")
        eventually(lambda: self.execute(f"SHOW {name}") == [(value,)], what=f"{name} is {value}")

    def as_it_was(self) -> None:
        """Make it ready for the next test: running, stock settings, no jobs, no sessions."""
        if not self.running or self.embedded.settings:
            self.restart()
        with self.connect() as session:
            session.execute("SET default_transaction_read_only = off")
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
        host, port = self.target
        return FaultyConnection(port, host)

    def url_by(self, proxy: FaultyConnection) -> str:
        """Return where it can be reached through a proxy."""
        return f"postgresql://postgres@127.0.0.1:{proxy.port}/{DATABASE}"


class Standby(Postgres):
    """A replica of another server, which follows it until it is promoted."""

    def __init__(self, primary: OwnServer, folder: Path) -> None:
        super().__init__(folder)
        self._let_in(primary)
        home = self.embedded.home
        program = str(home.binaries / "bin/pg_basebackup")
        source = ["--host", primary.target[0], "--username", "postgres"]
        subprocess.run(
            [program, *source, "--pgdata", str(home.data), "--write-recovery-conf", "--checkpoint=fast", "--no-sync"],
            check=True, capture_output=True,
        )  # fmt: skip
        if home.account:
            for path in (home.data, *home.data.rglob("*")):
                os.chown(path, home.account.pw_uid, home.account.pw_gid, follow_symlinks=False)
        self.launch()
        try:
            eventually(self._follows, what="the standby follows")
        except AssertionError:
            print(self.log.read_text())
            self.remove()
            raise

    def _let_in(self, primary: OwnServer) -> None:
        """Let the standby read what the primary writes: as root they run under another account than ours."""
        data, account = primary.embedded.home.data, primary.embedded.home.account
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write("local replication all peer map=owner\n")
        if account:
            with (data / "pg_ident.conf").open("a") as names:
                names.write(f'owner "{account.pw_name}" all\n')
        primary.execute("SELECT pg_reload_conf()")

    def _follows(self) -> bool:
        with suppress(psycopg.OperationalError):
            return bool(self.execute("SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'"))
        return False

    def promote(self) -> None:
        """Let it take over, when it has all that the primary had written."""
        assert self.execute("SELECT pg_promote()") == [(True,)]
        self.execute("ALTER SYSTEM RESET ALL")
        self.execute("SELECT pg_reload_conf()")
