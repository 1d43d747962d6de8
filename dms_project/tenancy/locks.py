"""One change to the set of schemas at a time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
        # A connection that was lost has lost the lock, and a failed transaction can't give it back: closing does.
        if not connection.is_usable():
            connection.close()
        else:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_KEY])


def _try(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [_KEY])
        return bool(cursor.fetchone()[0])
