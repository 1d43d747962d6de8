"""What a contender asks of the server, counted by pg_stat_statements and the position in the WAL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from scripts.bench.errors import NotMeasured
from scripts.bench.server import Database

_COUNT = """
SELECT coalesce(sum(calls) FILTER (WHERE query !~* '^(begin|commit|rollback)'), 0)::bigint,
       coalesce(sum(calls) FILTER (WHERE query ~* '^(begin|commit|rollback)'), 0)::bigint,
       coalesce(sum(shared_blks_hit + shared_blks_read), 0)::bigint,
       (pg_current_wal_lsn() - '0/0')::bigint
FROM pg_stat_statements
WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND query !~ 'pg_stat_statements'
"""


@dataclass(frozen=True)
class Asked:
    """Since the start of counting, or between two counts."""

    statements: int
    transaction_control: int  # BEGIN, COMMIT and ROLLBACK
    buffers: int  # shared ones, found or read
    wal_bytes: int  # of the whole server

    def __sub__(self, before: Asked) -> Asked:
        return Asked(*(getattr(self, name) - getattr(before, name) for name in self.__dataclass_fields__))


def count_in(database: Database) -> None:
    """Begin to count what the sessions ask that connect from now on.

    Raises:
        NotMeasured: The server doesn't preload pg_stat_statements.
    """
    track = sql.SQL("ALTER DATABASE {} SET pg_stat_statements.track = 'top'")
    try:
        database.server.execute(track.format(sql.Identifier(database.name)))
        with database.connect() as connection:
            connection.execute("CREATE EXTENSION pg_stat_statements")
            connection.execute("SELECT count(*) FROM pg_stat_statements")
    except psycopg.Error as error:
        reason = str(error).splitlines()[0]
        raise NotMeasured(f"the server can't count statements ({reason}); preload pg_stat_statements") from error


def asked(database: Database) -> Asked:
    """Return the counts so far, without this look itself."""
    with database.connect() as connection:
        connection.execute("SET pg_stat_statements.track = 'none'")
        row: Any = connection.execute(_COUNT).fetchone()
    return Asked(*row)
