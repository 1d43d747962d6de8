"""The SQL that the ORM can't say, each statement with its reason. No tenant is named: the search_path decides."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connections

from jobqueue.sign_of_life import LOCK_CLASS
from jobqueue.specs import CheckedSpec

# Why not bulk_create(ignore_conflicts=True): it doesn't say which rows it inserted, nor their ids.
# Why not DO UPDATE: it would lock, and rewrite, the row of a job that may be running.
# ON CONFLICT DO NOTHING waits for another transaction that is inserting the same key, and inserts if that rolls back.
_INSERT = """
INSERT INTO processing_jobs
    (job_type, queue_name, payload, priority, max_attempts, available_at, idempotency_key)
SELECT job_type, queue_name, payload, priority, max_attempts,
       coalesce(available_at, statement_timestamp()), idempotency_key
FROM unnest(
    %s::text[], %s::text[], %s::jsonb[], %s::smallint[], %s::smallint[], %s::timestamptz[], %s::text[]
) WITH ORDINALITY AS spec
    (job_type, queue_name, payload, priority, max_attempts, available_at, idempotency_key, position)
ORDER BY position
ON CONFLICT (idempotency_key) DO NOTHING
RETURNING id, idempotency_key, available_at, created_at
"""

# Why SQL: pg_locks is no model, and one statement has to judge many rows by the database's clock. A row whose lock
# another transaction holds is skipped: somebody is just writing about it, so its holder lives.
# The grace time counts anew after a restart of the server, which drops the sign of life of every worker at once.
_LOOK = """
WITH living AS MATERIALIZED (
    SELECT objid::bigint AS holder_key
    FROM pg_locks
    WHERE locktype = 'advisory' AND classid = %(lock_class)s AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT id, attempts >= max_attempts AS exhausted, locked_at < statement_timestamp() - %(stale_after)s AS stale,
       holder_key IS NULL OR holder_key IN (SELECT holder_key FROM living) AS alive,
       coalesce(holder_missing_since < statement_timestamp() - %(grace)s, false)
           AND pg_postmaster_start_time() < statement_timestamp() - %(grace)s AS missed_for_long
FROM processing_jobs
WHERE status = 'processing'
  AND (
      locked_at < statement_timestamp() - %(stale_after)s
      OR holder_key IS NOT NULL
         AND (holder_missing_since IS NOT NULL OR holder_key NOT IN (SELECT holder_key FROM living))
  )
ORDER BY id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
"""


@dataclass(frozen=True)
class Inserted:
    """What the database chose for a new row."""

    id: int
    idempotency_key: str | None
    available_at: datetime
    created_at: datetime


def insert_jobs(using: str, specs: Sequence[CheckedSpec]) -> list[Inserted]:
    """Insert one row per spec, in order; a spec whose key exists is left out of the answer."""
    columns: list[list[Any]] = [
        [checked.spec.job_type for checked in specs],
        [checked.spec.queue_name for checked in specs],
        [checked.payload_json for checked in specs],
        [checked.spec.priority for checked in specs],
        [checked.max_attempts for checked in specs],
        [checked.available_at for checked in specs],
        [checked.spec.idempotency_key for checked in specs],
    ]
    with connections[using].cursor() as cursor:
        cursor.execute(_INSERT, columns)
        return [Inserted(*row) for row in cursor.fetchall()]


@dataclass(frozen=True)
class Suspect:
    """A running job whose lock is stale or whose holder's sign of life is, or was, missing."""

    id: int
    exhausted: bool
    stale: bool
    alive: bool
    missed_for_long: bool


def look_for_dead_workers(using: str, *, stale_after: timedelta, grace: timedelta, limit: int) -> list[Suspect]:
    """Lock and return the running jobs whose worker may be dead, those with the lowest ids first."""
    parameters: dict[str, Any] = {"lock_class": LOCK_CLASS, "stale_after": stale_after, "grace": grace, "limit": limit}
    with connections[using].cursor() as cursor:
        cursor.execute(_LOOK, parameters)
        return [Suspect(*row) for row in cursor.fetchall()]


# Why SQL: five subqueries in one statement, each bounded, which the ORM can't put beside each other without a table.
_COUNT = """
SELECT (SELECT count(*) FROM (SELECT FROM processing_jobs WHERE status = 'pending' LIMIT %(limit)s) AS found),
       (SELECT count(*) FROM (SELECT FROM processing_jobs WHERE status = 'processing' LIMIT %(limit)s) AS found),
       (SELECT count(*) FROM (SELECT FROM processing_jobs WHERE status = 'dead_letter' LIMIT %(limit)s) AS found),
       (SELECT min(available_at) FROM (
           SELECT available_at FROM processing_jobs
           WHERE status = 'pending' AND available_at <= statement_timestamp() LIMIT %(limit)s
       ) AS found),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'processing_jobs'::regclass)
"""


def read_counts(using: str, limit: int) -> tuple[int, int, int, datetime | None, int]:
    """Return how many are pending, processing and dead letters, the oldest due time, and the estimate of all."""
    with connections[using].cursor() as cursor:
        cursor.execute(_COUNT, {"limit": limit})
        pending, processing, dead, oldest, about = cursor.fetchone()
        return pending, processing, dead, oldest, about
