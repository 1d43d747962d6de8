"""Jobs as they stand in their tables, for the checker."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from tests.faults.history import Attempt, JobId, Row

_LOOK = """
SELECT id, payload ->> 'mark', status, attempts, max_attempts, available_at <= now(), lock_token::text,
       CASE jsonb_typeof(result) WHEN 'object' THEN result ->> 'token' END, idempotency_key, history
FROM {}.processing_jobs ORDER BY id
"""


def read_rows(url: str, schemas: Sequence[str]) -> list[Row]:
    """Return the jobs of these schemas. The server must be on this machine, whose clocks it shares."""
    with psycopg.connect(url) as session:
        return [
            _row(schema, *columns)
            for schema in schemas
            for columns in session.execute(_LOOK.format(schema))  # type: ignore[arg-type]  # the tests' own text
        ]


def _row(schema: str, number: int, mark: str, status: str, attempts: int, max_attempts: int, *rest: Any) -> Row:
    due, token, result_token, key, history = rest
    made = [_attempt(entry) for entry in history]
    return Row(
        JobId(schema, number), mark, status, attempts, max_attempts, due, token, result_token, key, attempts_made=made
    )


def _attempt(entry: dict[str, Any]) -> Attempt:
    ended = _monotonic(entry["ended_at"])
    return Attempt(entry["attempt"], entry["worker"], entry["outcome"], entry["error"], ended)


def _monotonic(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp() - time.time() + time.monotonic()
