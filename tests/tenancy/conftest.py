"""A fleet of ten tenants in a database of its own, and the command line to work on it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tests.programs import Program, manage, run_manage

NAMES = [f"t{number:02}" for number in range(1, 11)]

CREATE = """
from django.core.management import call_command
from dms_project.tenancy.schemas import create_tenant
call_command("migrate", verbosity=0)
for name in {names}: create_tenant(name, name + ".localhost")
call_command("migrate", "shelves", "0002", verbosity=0)
"""


class Fleet:
    """A database with ten tenants, and manage.py on it with the shelves installed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.environment = os.environ | {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "tests.tenancy.fleet_settings",
        }

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run_manage(arguments, self.environment, timeout=200)

    def start(self, log: Path, *arguments: str) -> Program:
        with log.open("wb") as output:
            return manage(arguments, self.environment, output)

    def connect(self, **options: object) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url, **options)  # type: ignore[arg-type]  # passed through

    def sql(self, statement: str) -> list[tuple[object, ...]]:
        with self.connect(autocommit=True) as session:
            cursor = session.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def shelf_migrations(self) -> dict[str, int]:
        """How many migrations of the shelves each tenant has."""
        return {
            name: self.sql(f"SELECT count(*) FROM {name}.django_migrations WHERE app = 'shelves'")[0][0]
            for name in NAMES
        }


@pytest.fixture(scope="session")
def fleet_template(database_url: str) -> Iterator[str]:
    """The URL of a database with ten tenants, their shelves before the constraint; to be copied."""
    url = _beside(database_url, "fleet_template")
    with _new_database(database_url, url):
        fleet = Fleet(url)
        done = fleet.manage("shell", "--no-imports", "-c", CREATE.format(names=NAMES))
        assert done.returncode == 0, done.stderr
        yield url


@pytest.fixture
def fleet(database_url: str, fleet_template: str) -> Iterator[Fleet]:
    url = _beside(database_url, "fleet")
    with _new_database(database_url, url, template=fleet_template):
        yield Fleet(url)


def _beside(database_url: str, suffix: str) -> str:
    return f"{database_url}_{suffix}"


@contextmanager
def _new_database(server: str, url: str, template: str = "/template1") -> Iterator[None]:
    name, source = (Identifier(each.rpartition("/")[2]) for each in (url, template))
    drop = SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name)
    with psycopg.connect(server, autocommit=True) as session:
        session.execute(drop)
        session.execute(SQL("CREATE DATABASE {} TEMPLATE {}").format(name, source))
    try:
        yield
    finally:
        with psycopg.connect(server, autocommit=True) as session:  # another: tests end all sessions they find
            session.execute(drop)
