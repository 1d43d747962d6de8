"""One change to the set of schemas at a time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper

_KEY = int.from_bytes(b"tenancy")
_INTERVAL = 0.2  # seconds between two tries


@contextmanager
def schema_lock(connection: BaseDatabaseWrapper, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the database's lock on migrating, creating and deleting tenants; wait for it as long as it takes.

    The lock is the session's, on a direct connection: it ends with the connection at the latest, and so with a process
    that is killed.

    Args:
        waiting: Called once if somebody else holds the lock.
    """
    held = _try(connection)
    if not held:
        waiting()
    while not held:
        # A statement that waits inside the server would be waited for by CREATE INDEX CONCURRENTLY: a deadlock.
        time.sleep(_INTERVAL)
        held = _try(connection)
    try:
        yield
    finally:
        # Straight to the driver: Django refuses statements in a transaction that it means to roll back.
        if (session := connection.connection) is not None:
            try:
                session.execute("SELECT pg_advisory_unlock(%s)", [_KEY])
            except psycopg.Error:
                connection.close()  # a lost connection, or a failed transaction: this ends the lock


def _try(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_KEY])
        return bool(cursor.fetchone()[0])
