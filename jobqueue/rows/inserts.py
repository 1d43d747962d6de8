"""The statements that insert jobs. No tenant is named: the search_path decides."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from django.db import connections

from jobqueue.rows.direct_sessions import learn, preparing_cursor
from jobqueue.specs import CheckedSpec
from jobqueue.tracing import traceparent

# Why not bulk_create(ignore_conflicts=True): it doesn't say which rows it inserted, nor their ids.
# Why not DO UPDATE: it would lock, and rewrite, the row of a job that may be running.
# ON CONFLICT DO NOTHING waits for another transaction that is inserting the same key, and inserts if that rolls back.
# It would also wait for one that has written to the known key's row, such as a handler's long one about its own job: so
# a key that can be seen is left out before. OFFSET 0 makes that a look into the index for each key; without it the
# planner may read the whole table instead.
# The specs come as one JSON text, which costs a fraction of seven arrays; and the time of the statement, which all rows
# share, as text, so that it is parsed once.
_INSERT = """
INSERT INTO processing_jobs
    (job_type, queue_name, payload, priority, max_attempts, available_at, idempotency_key, concurrency_key,
     concurrency_limit, flow_step_id, traceparent)
SELECT t, q, p, r, m, coalesce(a, statement_timestamp()), k, c, l, f, %s
FROM ROWS FROM (
    json_to_recordset(%s::json)
    AS (t text, q text, p jsonb, r smallint, m smallint, a timestamptz, k text, c text, l smallint, f bigint)
) WITH ORDINALITY AS spec (t, q, p, r, m, a, k, c, l, f, position)
WHERE {is_new}
ORDER BY position
ON CONFLICT (idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
RETURNING id, idempotency_key, created_at::text
"""
_INSERT_KEYLESS = _INSERT.format(is_new="true")
_INSERT_NEW = _INSERT.format(
    is_new="k IS NULL OR NOT EXISTS (SELECT FROM processing_jobs WHERE idempotency_key = k OFFSET 0)"
)

# The one job that most callers enqueue: a third of the time that the server takes to plan the above, and less where it
# can be prepared.
_INSERT_ONE = """
INSERT INTO processing_jobs (job_type, queue_name, payload, priority, max_attempts, available_at, traceparent)
VALUES (%s, %s, %s::jsonb, %s, %s, coalesce(%s, statement_timestamp()), %s)
RETURNING id, created_at::text, pg_backend_pid()
"""

# Many rows come in by COPY, which costs the server a third of what an INSERT from JSON does. It answers nothing, so the
# ids and the time are drawn before.
_DRAW = """
SELECT string_agg(nextval(sequence)::text, ','), statement_timestamp()::text
FROM (SELECT pg_get_serial_sequence('processing_jobs', 'id')::regclass AS sequence OFFSET 0) AS of_jobs,
     generate_series(1, %s)
"""
_COPY = """
COPY processing_jobs
    (id, job_type, queue_name, payload, priority, max_attempts, available_at, created_at, traceparent)
FROM STDIN
"""
#: From how many rows on drawing first pays.
COPY_FROM = 20
_ROWS_A_WRITE = 1_000
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


@dataclass(frozen=True)
class Inserted:
    """What the database chose for new rows."""

    #: Of each new row its id and key, in the order of the specs.
    rows: list[tuple[int, str | None]]
    #: When they were created; since when those are due that name no time.
    now: datetime


def insert_jobs(using: str, specs: Sequence[CheckedSpec]) -> Inserted:
    """Insert one row per spec, in order; a spec whose key exists is left out of the answer."""
    if any(checked.spec.idempotency_key is not None for checked in specs):
        return _insert(using, _INSERT_NEW, [traceparent(), _as_json(specs)])
    if any(checked.spec.concurrency_key is not None for checked in specs):
        return _insert(using, _INSERT_KEYLESS, [traceparent(), _as_json(specs)])
    if len(specs) >= COPY_FROM:
        return _copy(using, specs)
    if len(specs) > 1:
        return _insert(using, _INSERT_KEYLESS, [traceparent(), _as_json(specs)])
    (one,) = specs
    spec = one.spec
    columns = [spec.job_type, spec.queue_name, one.payload_json, spec.priority, one.max_attempts, one.available_at]
    with preparing_cursor(using) as cursor:
        cursor.execute(_INSERT_ONE, [*columns, traceparent()])
        pk, now, server_process = cursor.fetchone()
    learn(using, server_process)
    return Inserted([(pk, None)], _in_utc(now))


def insert_steps(using: str, steps: Iterable[tuple[int, str]]) -> None:
    """Insert a row for each step of a flow, given by its id and by its spec as JSON."""
    specs = ",".join([f'{{"f":{step},{spec.strip()[1:]}' for step, spec in steps])
    _insert(using, _INSERT_KEYLESS, [traceparent(), f"[{specs}]"])


def _insert(using: str, statement: str, parameters: list[Any]) -> Inserted:
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    now = _in_utc(rows[0][2]) if rows else datetime.min.replace(tzinfo=UTC)
    return Inserted([row[:2] for row in rows], now)


def _copy(using: str, specs: Sequence[CheckedSpec]) -> Inserted:
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(_DRAW, [len(specs)])
        drawn, now = cursor.fetchone()
        ids = drawn.split(",")
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            lines = _lines(ids, specs, now)
            while block := "".join(islice(lines, _ROWS_A_WRITE)):
                copy.write(block)
    return Inserted([(int(pk), None) for pk in ids], _in_utc(now))


def _lines(ids: Sequence[str], specs: Sequence[CheckedSpec], now: str) -> Iterator[str]:
    """Yield each row as COPY reads it: columns between tabs, with a backslash before what isn't meant so."""
    span = traceparent() or "\\N"
    for pk, checked in zip(ids, specs, strict=True):
        spec = checked.spec
        at = now if checked.available_at is None else checked.available_at.isoformat()
        payload = checked.payload_json.replace("\\", "\\\\")  # the only such character that JSON leaves in a text
        yield (
            f"{pk}\t{_escaped(spec.job_type)}\t{_escaped(spec.queue_name)}\t{payload}\t"
            f"{spec.priority:d}\t{checked.max_attempts:d}\t{at}\t{now}\t{span}\n"
        )


@lru_cache(maxsize=1_000)
def _escaped(name: str) -> str:
    return name.translate(_ESCAPES)


def _as_json(specs: Sequence[CheckedSpec]) -> str:
    return f"[{','.join([checked.as_json() for checked in specs])}]"


def _in_utc(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
