"""Cut a thread off from the database, from another thread."""

import contextlib
import os
import socket
import threading
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from psycopg import Connection

from jobqueue.exceptions import TimedOut

_CANCEL_SECONDS = 1.0
_current = threading.local()


class ThreadConnections:
    """The connections that Django opens in the thread that makes this object."""

    def __init__(self) -> None:
        self.thread = threading.current_thread()
        self._opened: list[tuple[BaseDatabaseWrapper, Any]] = []
        self._cut = False
        #: Whether there has ever been one, to whatever database.
        self.any = False
        _current.connections = self

    def note(self, connection: BaseDatabaseWrapper) -> None:
        """Note a connection that the thread has just opened.

        Raises:
            TimedOut: The thread is cut off; the connection is closed again.
        """
        self._opened = [*filter(_is_open, self._opened), (connection, connection.connection)]
        if self._cut:
            connection.connection.close()
            raise TimedOut

    def cut(self) -> None:
        """Let the thread's connections fail, and each that it opens from now on.

        What it has not committed is rolled back and what it waits for ends, so that its locks are free. Takes a second
        for each connection at the most. Never raises.
        """
        self._cut = True
        for connection, raw in self._opened:
            if _is_open((connection, raw)):
                with contextlib.suppress(Exception):
                    # The server itself doesn't notice that a client is gone while it waits for a lock.
                    raw.cancel_safe(timeout=_CANCEL_SECONDS)
                with contextlib.suppress(Exception):
                    shut_down(raw)


@receiver(connection_created, dispatch_uid="jobqueue.worker.thread_connections")
def _note(*, connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    connections: ThreadConnections | None = getattr(_current, "connections", None)
    if connections is not None:
        connections.any = True
        if connection.vendor == "postgresql":
            connections.note(connection)


def _is_open(opened: tuple[BaseDatabaseWrapper, Any]) -> bool:
    connection, raw = opened
    return connection.connection is raw and not raw.closed  # else a pool may have given it to another thread


def shut_down(connection: Connection[Any]) -> None:
    """Wake the thread that waits for an answer on the connection; it notices that nothing more will come.

    Raises:
        OSError, psycopg.Error: It is closed already.
    """
    # Its own thread may be closing it, and the number of its file be somebody else's a moment later: hence a second
    # number, which is the connection's if that is open afterwards.
    with socket.socket(fileno=os.dup(connection.fileno())) as connected:
        if not connection.closed:
            connected.shutdown(socket.SHUT_RDWR)
