"""The PostgreSQL that everything is measured on, and databases on it that last as long as one measurement.

Databases are cloned from templates, which are prepared once: the same tables with the same waiting jobs each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from scripts.bench import libpq
from scripts.bench.errors import NotMeasured
from scripts.postgres import EmbeddedPostgres

HOME = Path(__file__).resolve().parents[2] / "var/bench-postgres"

# Stock settings but for these. No checkpoint begins by itself within a measurement: each is preceded by one. Statements
# are counted only in databases that ask for it.
SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track": "none",
    "checkpoint_timeout": "1h",
    "max_wal_size": "8GB",
}


@dataclass(frozen=True)
class Database:
    """A database of the benchmark's own."""

    server: Server
    name: str

    @property
    def environment(self) -> dict[str, str]:
        """What leads a child process here."""
        return libpq.environment(self.server.parameters, self.name)

    def connect(self) -> psycopg.Connection:
        """Connect, in autocommit mode."""
        return psycopg.connect(**{**self.server.parameters, "dbname": self.name}, autocommit=True)

    def value(self, statement: str) -> Any:
        """Return the one value that a statement answers."""
        with self.connect() as connection:
            row = connection.execute(statement.encode()).fetchone()
        return row[0] if row else None


@dataclass
class Server:
    """A server on which databases may be made and dropped."""

    parameters: dict[str, Any]
    _prefix: str = field(default_factory=lambda: f"bench_{os.getpid()}")
    _templates: dict[str, Database] = field(default_factory=dict)
    _made: int = 0

    def template(self, name: str, build: Callable[[Database], None], base: Database | None = None) -> Database:
        """Return the template of this name; the first time, ``build`` it in an empty database or a copy of ``base``."""
        if name not in self._templates:
            database = self._create(base)
            try:
                build(database)
                with database.connect() as connection:
                    connection.execute("VACUUM ANALYZE")
            except BaseException:
                self._drop(database)
                raise
            self._templates[name] = database
        return self._templates[name]

    @contextmanager
    def clone(self, template: Database) -> Iterator[Database]:
        """Give a copy for the length of the block."""
        database = self._create(template)
        try:
            yield database
        finally:
            self._drop(database)

    def checkpoint(self) -> None:
        """Write out what was prepared, so that it isn't written while something is measured."""
        self.execute(sql.SQL("CHECKPOINT"))

    def execute(self, statement: sql.Composed | sql.SQL) -> list[tuple[Any, ...]]:
        """Run a statement outside the databases that are measured."""
        with psycopg.connect(**self.parameters, autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def setting(self, name: str) -> str:
        """Return a setting of the server as it prints it."""
        return str(self.execute(sql.SQL("SELECT current_setting({})").format(name))[0][0])

    def process(self) -> psutil.Process | None:
        """Return the server's own process if it runs on this machine."""
        with psycopg.connect(**self.parameters) as connection:
            try:
                parent = psutil.Process(connection.info.backend_pid).parent()
            except psutil.NoSuchProcess:
                return None
        return parent if parent and parent.name().startswith("postgres") else None

    def drop_templates(self) -> None:
        """Leave nothing of ours."""
        for database in self._templates.values():
            self._drop(database)
        self._templates.clear()

    def _create(self, template: Database | None) -> Database:
        self._made += 1
        database = Database(self, f"{self._prefix}_{self._made}")
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        source = template.name if template else "template1"
        self.execute(create.format(sql.Identifier(database.name), sql.Identifier(source)))
        return database

    def _drop(self, database: Database) -> None:
        self.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database.name)))


@contextmanager
def running_server() -> Iterator[Server]:
    """Give the server that BENCH_DATABASE_URL names, or an embedded one that lasts as long as the block."""
    if given := os.environ.get("BENCH_DATABASE_URL"):
        yield from _usable(given)
        return
    embedded = EmbeddedPostgres(HOME, settings=SETTINGS)
    try:
        with embedded.running() as url:
            yield from _usable(url)
    finally:
        embedded.home.remove()


def _usable(url: str) -> Iterator[Server]:
    server = Server(psycopg.conninfo.conninfo_to_dict(url))
    for name in ("fsync", "synchronous_commit"):
        if server.setting(name) != "on":
            raise NotMeasured(f"the server runs with {name} off: what is fast there may be lost; turn it on")
    try:
        yield server
    finally:
        server.drop_templates()
