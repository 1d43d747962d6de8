"""The connection of one of the worker's own loops, which must never wait long for somebody else's lock."""

from django.db import Error, connections
from psycopg import errors

#: How long a statement of the worker's own waits for a lock: a migration, say, may hold a tenant's table.
_LOCK_TIMEOUT = "1s"


class OwnSession:
    """Belongs to one thread; notices when its connection is a new one."""

    def __init__(self, using: str) -> None:
        self._using = using
        self._known: object | None = None

    def prepare(self) -> None:
        """Connect if need be, and set the new session up; costs nothing while the session lasts."""
        connection = connections[self._using]
        connection.ensure_connection()
        if connection.connection is not self._known:
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, false)", [_LOCK_TIMEOUT])
            self._known = connection.connection


def was_locked_out(error: Error) -> bool:
    """Return whether the lock timeout ended the statement: its tenant is busy, and the connection is in order."""
    return isinstance(error.__cause__, errors.LockNotAvailable)
