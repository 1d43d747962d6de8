"""How a worker shows that it lives: an advisory lock that PostgreSQL drops with the worker's connection.

The lock is session-level, so it needs a direct connection (or a pooler in session mode). Its key stands on each row
that the worker claims (``holder_key``); whoever looks for dead workers finds the key missing in ``pg_locks``.
"""

import random
from dataclasses import dataclass
from datetime import datetime

from django.db import connections

#: The first of the two numbers of the advisory lock; keeps our locks apart from an application's own.
LOCK_CLASS = 0x4A4F4251  # "JOBQ"


class SignOfLife:
    """One worker's lock. Belongs to the thread whose connection holds it."""

    def __init__(self, using: str) -> None:
        self.using = using
        # 31 random bits, since a key must not be predictable from a process id that another host has too.
        self.key = random.SystemRandom().randrange(1, 2**31)
        self._session: object | None = None

    def show(self) -> bool:
        """Take the lock unless this session has it already.

        Returns:
            Whether the sign is shown: by this session, or still by our former one, which the server hasn't noticed to
            be gone. False if somebody else shows it, who drew the same number.
        """
        connection = connections[self.using]
        with connection.cursor() as cursor:
            if self._session is not None and self._session is connection.connection:
                return True
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK_CLASS, self.key])
            if cursor.fetchone() == (True,):
                self._session = connection.connection
        return self._session is not None


# Why SQL: pg_locks is no model.
_COUNT = """
SELECT count(*) FROM pg_locks
WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def count_signs(using: str) -> int:
    """Return how many workers show a sign of life in this database."""
    with connections[using].cursor() as cursor:
        cursor.execute(_COUNT, [LOCK_CLASS])
        return int(cursor.fetchone()[0])


# Why SQL: neither is a model. The session that holds the lock is the keeper's; its client is where the worker runs.
_LIVING = """
SELECT sign.objid::bigint, activity.backend_start, host(activity.client_addr)
FROM pg_locks AS sign LEFT JOIN pg_stat_activity AS activity USING (pid)
WHERE sign.locktype = 'advisory' AND sign.classid = %s AND sign.objsubid = 2 AND sign.granted
  AND sign.database = (SELECT oid FROM pg_database WHERE datname = current_database())
ORDER BY activity.backend_start, sign.objid
"""


@dataclass(frozen=True)
class Sign:
    """A sign of life, and what the server knows of the session that shows it."""

    #: When the worker connected. None: the server doesn't tell this role.
    since: datetime | None
    #: From where; None: by a socket on the server's machine, or the server doesn't tell.
    address: str | None


def living_workers(using: str) -> dict[int, Sign]:
    """Return the workers that show a sign of life in this database, by their ``holder_key``, the longest first."""
    with connections[using].cursor() as cursor:
        cursor.execute(_LIVING, [LOCK_CLASS])
        return {key: Sign(since, address) for key, since, address in cursor.fetchall()}
