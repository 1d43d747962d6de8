"""The least SQL that could do our queue's work, on the same table, by psycopg on one connection.

It keeps what makes a claim safe (``FOR UPDATE SKIP LOCKED``, a token that fences the outcome) and leaves out everything
else, so it is what a queue in Python on this table can come near to, not what it can reach.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg

from scripts.bench.contender import Contender, Producer
from scripts.bench.marks import mark
from scripts.bench.ours import NOOP, Ours

_INSERT = "INSERT INTO processing_jobs (job_type, payload) VALUES (%s, %s::jsonb)"
_COPY = "COPY processing_jobs (job_type, payload) FROM STDIN"

# The subselect stands in an array, so that the planner runs it once.
_CLAIM = """
UPDATE processing_jobs
SET status = 'processing', attempts = attempts + 1, lock_token = %(token)s,
    locked_at = now(), started_at = now(), locked_by = 'floor'
WHERE id = ANY (ARRAY (
    SELECT id FROM processing_jobs
    WHERE queue_name = 'default' AND job_type = 'bench.noop' AND priority = 0
      AND status = 'pending' AND available_at <= now()
    ORDER BY available_at, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
))
RETURNING id, (payload ->> 'number')::bigint
"""
_COMPLETE = """
UPDATE processing_jobs
SET status = 'succeeded', finished_at = now(), locked_at = NULL, locked_by = NULL
WHERE id = ANY (%(ids)s) AND lock_token = %(held)s AND status = 'processing'
"""
_COMPLETE_AND_CLAIM = f"WITH completed AS ({_COMPLETE}) {_CLAIM}"


class Floor(Contender):
    """Measured in a database that our own migrations made."""

    name = "floor"
    unfinished = Ours.unfinished
    busy = Ours.busy

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        with psycopg.connect(autocommit=True) as connection:
            yield _Producer(connection)

    def work(self, *, batch: int, fused: bool) -> None:  # type: ignore[override]  # its settings by name
        """Work off what is due, ``batch`` jobs at a time.

        Args:
            batch: Jobs of a claim.
            fused: One statement completes a batch and claims the next: one transaction where there would be two.
        """
        with psycopg.connect(autocommit=True, prepare_threshold=1) as connection:
            ids: list[int] = []
            token = held = uuid4()
            while True:
                held, token = token, uuid4()
                if fused:
                    rows = _run(connection, _COMPLETE_AND_CLAIM, ids, held, token, batch)
                else:
                    if ids:
                        connection.execute(_COMPLETE, {"ids": ids, "held": held})
                    rows = _run(connection, _CLAIM, ids, held, token, batch)
                for _, number in rows:
                    mark(number)
                ids = [pk for pk, _ in rows]
                if not rows:
                    time.sleep(0.02)


def _run(
    connection: psycopg.Connection, statement: str, ids: list[int], held: UUID, token: UUID, limit: int
) -> list[Any]:
    parameters = {"ids": ids, "held": held, "token": token, "limit": limit}
    return connection.execute(statement, parameters).fetchall()


class _Producer(Producer):
    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def one(self, number: int) -> None:
        self._connection.execute(_INSERT, [NOOP, f'{{"number": {number}}}'])

    def many(self, numbers: Sequence[int]) -> None:
        with self._connection.cursor().copy(_COPY) as copy:
            for number in numbers:
                copy.write_row((NOOP, f'{{"number": {number}}}'))
