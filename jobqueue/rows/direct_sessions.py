"""Prepared statements for callers' connections: only where the session is theirs alone.

Behind a pooler in transaction mode each transaction may meet another session, which knows nothing of what was prepared
in the last. A pooler is known by the process id that comes with a new connection: it makes one up.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from django.db import connections
from django.db.backends.postgresql.base import ServerBindingCursor
from psycopg import Connection, Cursor

#: For psycopg, which prepares nothing without one. What others ask isn't to be prepared, however often they ask.
_NEVER_BY_ITSELF = 2**31 - 1

_is_direct: WeakKeyDictionary[Connection[Any], bool] = WeakKeyDictionary()


def learn(using: str, server_process: int) -> None:
    """Note which process of the server answered on this thread's connection."""
    connection: Connection[Any] | None = connections[using].connection
    if connection is None or connection in _is_direct:
        return
    _is_direct[connection] = server_process == connection.info.backend_pid
    if _is_direct[connection] and connection.prepare_threshold is None:
        connection.prepare_threshold = _NEVER_BY_ITSELF


@contextmanager
def preparing_cursor(using: str) -> Iterator[Any]:
    """Yield a cursor of Django's that has its statements prepared, if it may; else one like any other.

    So it is where statements are logged: of one that is prepared Django doesn't know the text with its values.
    """
    wrapper = connections[using]
    wrapper.ensure_connection()
    connection: Any = wrapper.connection
    if wrapper.queries_logged or not _is_direct.get(connection):
        with wrapper.cursor() as cursor:
            yield cursor
        return
    usual, connection.cursor_factory = connection.cursor_factory, _PreparingCursor
    try:
        opened = wrapper.cursor()
    finally:
        connection.cursor_factory = usual
    with opened as cursor:
        yield cursor


class _PreparingCursor(ServerBindingCursor, Cursor[Any]):
    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        return super().execute(query, params, **{**options, "prepare": True})
