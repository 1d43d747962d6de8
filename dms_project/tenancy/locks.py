"""One change to the set of schemas at a time, and a schema for oneself."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

import psycopg
from django.db import OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from psycopg.sql import SQL, Composable, Identifier

from dms_project.tenancy.exceptions import TenantInUse

_KEY = int.from_bytes(b"tenancy")
_INTERVAL = 0.2  # seconds between two tries

# How long take_tables() waits at a time, as shares of deadlock_timeout: short, for many quick transactions that cross
# its way; long, for one that takes its time.
_MOMENTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
_PAUSE = 0.05  # seconds in which the others get on


@contextmanager
def schema_lock(connection: BaseDatabaseWrapper, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the database's lock on migrating, creating and deleting tenants; wait for it as long as it takes.

    In a transaction the lock is held until that ends, since nobody sees before what was done in it. Else it is the
    session's, on a direct connection: it ends with the connection at the latest, and so with a process that is killed.

    Args:
        waiting: Called once if somebody else holds the lock.
    """
    of_transaction = connection.in_atomic_block
    take = "pg_try_advisory_xact_lock" if of_transaction else "pg_try_advisory_lock"
    held = _try(connection, take)
    if not held:
        waiting()
    while not held:
        # A statement that waits inside the server would be waited for by CREATE INDEX CONCURRENTLY: a deadlock.
        time.sleep(_INTERVAL)
        held = _try(connection, take)
    try:
        yield
    finally:
        if not of_transaction:
            _release(connection)


def _try(connection: BaseDatabaseWrapper, take: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {take}(%s)", [_KEY])
        return bool(cursor.fetchone()[0])


def _release(connection: BaseDatabaseWrapper) -> None:
    # Straight to the driver: Django refuses statements in a transaction that it means to roll back.
    if (session := connection.connection) is not None:
        try:
            session.execute("SELECT pg_advisory_unlock(%s)", [_KEY])
        except psycopg.Error:
            connection.close()  # a lost connection, or a failed transaction: this ends the lock


def take_tables(cursor: CursorWrapper, schema_name: str, seconds: float) -> None:
    """Lock every table of a schema until the transaction ends, against readers, too.

    Others use the tables in any order, so whoever holds some of them and waits for the rest may meet somebody who does
    the same the other way round. So this waits only for a moment, lets go of what it has, and tries again: PostgreSQL
    looks for deadlocks after ``deadlock_timeout``, and none lasts as long. In the second half of its time it waits in
    one go: that is what an autovacuum makes way for.

    Raises:
        TenantInUse: Somebody held on to a table for ``seconds``.
    """
    cursor.execute(
        "SELECT relname FROM pg_catalog.pg_class "
        "WHERE relnamespace = to_regnamespace(quote_ident(%s)) AND relkind IN ('r', 'p') ORDER BY relname",
        [schema_name],
    )
    tables = [Identifier(schema_name, name) for (name,) in cursor.fetchall()]
    if not tables:
        return
    statement = SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(SQL(", ").join(tables))
    cursor.execute("SELECT setting::int FROM pg_catalog.pg_settings WHERE name = 'deadlock_timeout'")
    deadlock_seconds = cursor.fetchone()[0] / 1000
    gives_up_at = time.monotonic() + seconds
    for share in cycle(_MOMENTS):
        left = gives_up_at - time.monotonic()
        if left <= 0:
            break
        if _within(cursor, statement, share * deadlock_seconds if left > seconds / 2 else left):
            return
        time.sleep(min(_PAUSE, left))
    raise TenantInUse(f"Somebody uses the tables of {schema_name!r} and didn't stop within {seconds:.0f} s.")


def _within(cursor: CursorWrapper, statement: Composable, seconds: float) -> bool:
    """Run a statement; return False, as if nothing had been, if it took longer or ended in a deadlock."""
    set_limit = "SELECT set_config('statement_timeout', %s, true)"
    cursor.execute("SHOW statement_timeout")
    limit_before = cursor.fetchone()[0]
    try:
        with transaction.atomic(using=cursor.db.alias):
            cursor.execute(set_limit, [f"{max(1, round(seconds * 1000))}ms"])
            cursor.execute(statement)
            cursor.execute(set_limit, [limit_before])
    except OperationalError as error:
        if not isinstance(error.__cause__, (psycopg.errors.QueryCanceled, psycopg.errors.DeadlockDetected)):
            raise
        return False
    return True
