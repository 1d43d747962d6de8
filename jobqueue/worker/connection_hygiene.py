"""Give the next job a database connection on which nothing of the previous one is left."""

import contextlib
import select
import threading
import time
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from psycopg.pq import TransactionStatus

#: How often connections of ended threads are looked for at most, in seconds.
_LOOK_SECONDS = 1.0


def reset_connections() -> None:
    """Reset every connection that this thread has open: transaction, settings, role, locks, cursors, LISTEN.

    Costs one round trip for an open connection and nothing for one that isn't. A connection in any state but idle
    and autocommit is replaced, which undoes what wasn't committed. Never raises.
    """
    for connection in connections.all(initialized_only=True):
        if connection.connection is None and not connection.in_atomic_block:
            continue
        try:
            clean = _wash(connection)
        except Exception:  # noqa: BLE001 - whatever is wrong with it, a new one is the remedy
            clean = False
        if not clean:
            _replace(connection)


def replace_ended_connections() -> None:
    """Replace every connection of this thread that the server has ended since it was reset.

    Costs no round trip: a reset session is silent, so whatever can be read from it is its end.
    """
    for connection in connections.all(initialized_only=True):
        raw = connection.connection
        if raw is not None and connection.vendor == "postgresql" and _says_something(raw):
            _replace(connection)


def _says_something(raw: Any) -> bool:
    try:
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except Exception:  # noqa: BLE001 - closed on our side
        return True


def close_left_behind() -> None:
    """Close the connections of ended threads that handlers started; looks once a second at most."""
    _left_behind.close()


def close_connections() -> None:
    """Close every connection of this thread, as at its end."""
    for connection in connections.all(initialized_only=True):
        _replace(connection)


def drop_connection(using: str) -> None:
    """End this thread's session with a database, also where a pool would keep it for others: it has our settings."""
    _replace(connections[using])


def _wash(connection: BaseDatabaseWrapper) -> bool:
    """Return False if the connection can't be made clean."""
    raw = connection.connection
    if connection.vendor != "postgresql" or connection.in_atomic_block or not connection.autocommit:
        return False
    if getattr(connection, "pool", None):
        return False  # its pool configured it once, when it was made, and would not do so again
    if raw.closed or raw.info.transaction_status != TransactionStatus.IDLE:
        return False
    connection.queries_log.clear()
    raw.execute("DISCARD ALL")
    # DISCARD also undid what Django set when it connected (time zone, role); a backend may set more.
    connection.init_connection_state()
    return True


def _replace(connection: BaseDatabaseWrapper) -> None:
    raw, pool = connection.connection, getattr(connection, "pool", None)
    with contextlib.suppress(Exception):
        if raw is not None:
            raw.close()
        if raw is not None and pool:
            pool.putconn(raw)  # closed as it is, the pool replaces it
    # A new wrapper, since the old one may believe that it is inside a transaction.
    del connections[connection.alias]


class _LeftBehind:
    """The connections of threads that handlers start: nobody closes these when their thread has ended.

    Python would, at some later time, since a connection of Django's is part of a circle of references.
    """

    def __init__(self) -> None:
        self._openers: WeakKeyDictionary[BaseDatabaseWrapper, threading.Thread] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._looked_at = time.monotonic()

    def note(self, connection: BaseDatabaseWrapper) -> None:
        with self._lock:
            self._openers[connection] = threading.current_thread()

    def close(self) -> None:
        """Close those whose thread has ended, unless that was looked for just now."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        with self._lock:
            ended = [connection for connection, opener in self._openers.items() if not opener.is_alive()]
            for connection in ended:
                del self._openers[connection]
        for connection in ended:
            with contextlib.suppress(Exception):
                connection.connection.close()


_left_behind = _LeftBehind()


@receiver(connection_created, dispatch_uid="jobqueue.worker.connection_hygiene")
def _note(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    _left_behind.note(connection)
