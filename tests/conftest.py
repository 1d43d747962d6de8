"""The test database: ``public`` and two tenants, acme and globex.

- ``db`` (or ``django_db``): a transaction around the test, as ever with pytest-django.
- ``tenant``: the test runs once in each of the two tenants.
- ``committed_db``: real commits, for tests with threads and processes; what they wrote is removed afterwards.
- ``database_url``: what a program started by a test needs as ``DATABASE_URL``.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import setup_databases, teardown_databases
from django.utils.translation import deactivate
from psycopg.errors import DeadlockDetected
from psycopg.sql import SQL, Identifier

from dms_project.tenancy import use
from scripts.postgres import escaped
from tests.parallel import (  # noqa: F401 - hooks
    pytest_collection_finish,
    pytest_collection_modifyitems,
    pytest_xdist_auto_num_workers,
    pytest_xdist_make_scheduler,
)
from tests.repeated import pytest_report_teststatus, pytest_runtest_protocol, pytest_terminal_summary  # noqa: F401

TENANTS = {"acme": "acme.localhost", "globex": "globex.localhost"}
# What a migrate writes stays: tests may rely on it, and nothing but a migrate brings it back.
KEPT = ("django_migrations", "django_content_type", "auth_permission", "tenants", "tenant_domains")


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, django_db_blocker: Any) -> None:
    """End whatever an aborted run left on the test database, so that it can be made anew."""
    with django_db_blocker.unblock():
        _end_sessions(connection.creation._get_test_db_name())


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: Any
) -> Iterator[None]:
    """Make the test database with its two tenants, and remove it at the end.

    Not by pytest-django's own fixture: that makes a database only if a test names ``db`` among its fixtures, and ours
    ask for it while they run.
    """
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False, aliases=["default"], serialized_aliases=[])
        _create_missing_tenants()
    yield
    with django_db_blocker.unblock():
        _end_sessions(connection.settings_dict["NAME"])
        teardown_databases(made, verbosity=0)


@pytest.fixture(autouse=True)
def _no_language_of_another_test() -> Iterator[None]:
    """Let no test see the language of the last request of another: it stays the thread's until the next request."""
    yield
    deactivate()


@pytest.fixture(params=list(TENANTS))
def tenant(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test in acme and again in globex, in a transaction unless it asks for ``committed_db``."""
    request.getfixturevalue("committed_db" if "committed_db" in request.fixturenames else "db")
    with use(request.param):
        yield request.param


@pytest.fixture
def committed_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Let the test commit; afterwards empty the tables it wrote to, in every schema, and remove its tenants."""
    with django_db_blocker.unblock():
        try:
            yield
        finally:
            connection.close()  # whatever the test left it in
            _remove_other_tenants()
            _create_missing_tenants()
            _empty_tables_of_running_programs()
            connections.close_all()


@pytest.fixture(scope="session")
def database_url(django_db_setup: None) -> str:
    """The test database's URL, for the environment of a program that the test starts."""
    settings = connection.settings_dict
    password = f":{escaped(settings['PASSWORD'])}" if settings["PASSWORD"] else ""
    server = f"{escaped(settings['HOST'])}:{settings['PORT'] or 5432}"
    return f"postgresql://{escaped(settings['USER'])}{password}@{server}/{settings['NAME']}"


def _create_missing_tenants() -> None:
    from dms_project.tenancy.fleet import exists
    from dms_project.tenancy.schemas import create_tenant

    for name, domain in TENANTS.items():
        if not exists(name):
            create_tenant(name, domain)


def _remove_other_tenants() -> None:
    from dms_project.tenancy.fleet import names
    from dms_project.tenancy.schemas import delete_tenant

    for name in names()[1:]:
        if name not in TENANTS:
            delete_tenant(name)


def _empty_tables_of_running_programs() -> None:
    """Begin again where a program that tests share, and that goes on, was just writing: each waited for the other."""
    for last in (False, False, True):
        try:
            _empty_tables()
        except OperationalError as error:
            if last or not isinstance(error.__cause__, DeadlockDetected):
                raise
        else:
            break


def _empty_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = ANY(%s) AND tablename <> ALL(%s)",
            [["public", *TENANTS], list(KEPT)],
        )
        tables = [Identifier(*row) for row in cursor.fetchall()]
        is_written = SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
        cursor.execute(SQL(" UNION ALL ").join(is_written.format(i, table) for i, table in enumerate(tables)))
        written = [tables[row[0]] for row in cursor.fetchall()]
        if written:
            # A test that left a transaction open fails here, by name, instead of hanging.
            cursor.execute("SET lock_timeout = '10s'")
            cursor.execute(SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(SQL(", ").join(written)))


def _end_sessions(name: str) -> None:
    """End all sessions on a database, from outside: those of threads and programs that a test forgot."""
    with connection._nodb_cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
