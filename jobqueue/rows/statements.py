"""The SQL that the ORM can't say, each statement with its reason. No tenant is named: the search_path decides."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import InternalError, connections

from jobqueue.models import ProcessingJob
from jobqueue.rows.history import ADD_ATTEMPT
from jobqueue.rows.lanes import Due, Lane, Marks, shares
from jobqueue.sign_of_life import LOCK_CLASS

# Why SQL: pg_locks is no model, and one statement has to judge many rows by the database's clock. A row whose lock
# another transaction holds is skipped: somebody is just writing about it, so its holder lives.
# The grace time counts anew after a restart of the server, which drops the sign of life of every worker at once and may
# have kept them from renewing their locks. Those not suspected yet come first, so that the grace time of all that a
# dead worker held runs at once, and not of one batch after the other.
_LIVING = """
WITH living AS MATERIALIZED (
    SELECT objid::bigint AS holder_key
    FROM pg_locks
    WHERE locktype = 'advisory' AND classid = %(lock_class)s AND objsubid = 2 AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
_STALE = "locked_at < statement_timestamp() - %(stale_after)s"
_MISSING = "holder_key IS NOT NULL AND holder_key NOT IN (SELECT holder_key FROM living)"
_LOCK_SUSPECTS = f"""{_LIVING}
SELECT id,
       attempts >= max_attempts AS exhausted,
       {_STALE} AS stale,
       holder_key IS NOT NULL AS promised,
       {_MISSING} AS missing,
       coalesce(suspected_since < statement_timestamp() - %(grace)s, false) AS for_long,
       pg_postmaster_start_time() < statement_timestamp() - %(grace)s AS settled
FROM processing_jobs
WHERE status = 'processing' AND ({_STALE} OR suspected_since IS NOT NULL OR {_MISSING})
ORDER BY suspected_since NULLS FIRST, id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - made of constants
#: Why nothing can be done, though the connection is in order.
READ_ONLY = "the server is read-only: a standby, or one that was replaced"
# A standby, and a server that a fail-over has made read-only, answer this like any other; hence the question.
_SUSPECTED = f"""{_LIVING}
SELECT current_setting('transaction_read_only') = 'on', EXISTS (
    SELECT FROM processing_jobs
    WHERE status = 'processing' AND ({_STALE} OR %(heeds_signs)s AND (suspected_since IS NOT NULL OR {_MISSING}))
)
"""  # noqa: S608 - made of constants

# Why SQL: each row gets a result of its own, and the fence is a pair of columns. The rows are locked first, in id order
# against deadlocks, and a locked one is left out: its handler's transaction may hold it, or somebody who cancels it.
# No join: the planner expects one running job, and would compare each of hundreds with each. So the claims and results
# come as one jsonb object, in which each row looks its own up, and the ids as an array whose length it can't see, for
# which it takes the primary key. "Processing" is said by locked_at (constraint processing_iff_locked), or it might take
# the index of running jobs, which an old snapshot fills with dead entries.
_CLAIM_NAME = "id || ' ' || lock_token"
_COMPLETE = f"""
WITH given AS MATERIALIZED (SELECT %s::jsonb AS results),
free AS MATERIALIZED (
    SELECT id FROM processing_jobs
    WHERE id = ANY (ARRAY(SELECT split_part(name, ' ', 1)::bigint FROM given, jsonb_object_keys(results) AS name))
      AND locked_at IS NOT NULL AND (SELECT results FROM given) ? ({_CLAIM_NAME})
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE processing_jobs
SET status = 'succeeded', finished_at = statement_timestamp(), progress = 100, worker_deaths = 0,
    result = nullif((SELECT results FROM given) -> ({_CLAIM_NAME}), 'null'),
    locked_at = NULL, locked_by = NULL, holder_key = NULL, suspected_since = NULL, concurrency_slot = NULL,
    history = {ADD_ATTEMPT % ("'succeeded'", "''")}
WHERE id = ANY (ARRAY(SELECT id FROM free))
RETURNING {_CLAIM_NAME}
"""  # noqa: S608 - made of constants


def complete_jobs(using: str, results: Iterable[tuple[str, str | None]]) -> set[str]:
    """Record success for claims, each named by id and token with a space between, with its result as JSON.

    Returns:
        The names of those whose row was changed.
    """
    pairs = ",".join([f'"{name}":{result or "null"}' for name, result in results])
    with connections[using].cursor() as cursor:
        cursor.execute(_COMPLETE, [f"{{{pairs}}}"])
        return {name for (name,) in cursor.fetchall()}


@dataclass(frozen=True)
class Suspect:
    """A running job whose holder may be dead, or was suspected to be."""

    id: int
    exhausted: bool
    #: The lock is older than allowed.
    stale: bool
    #: The holder promised a sign of life ...
    promised: bool
    #: ... which is missing now.
    missing: bool
    #: Suspected for longer than the grace time.
    for_long: bool
    #: The server runs for longer than the grace time.
    settled: bool


def look_for_dead_workers(using: str, *, stale_after: timedelta, grace: timedelta, limit: int) -> list[Suspect]:
    """Lock and return the running jobs whose worker may be dead, those that were not known to come first."""
    parameters: dict[str, Any] = {"lock_class": LOCK_CLASS, "stale_after": stale_after, "grace": grace, "limit": limit}
    with connections[using].cursor() as cursor:
        cursor.execute(_LOCK_SUSPECTS, parameters)
        return [Suspect(*row) for row in cursor.fetchall()]


def dead_workers_suspected(using: str, *, stale_after: timedelta, heeds_signs: bool) -> bool:
    """Return whether ``look_for_dead_workers`` would find something; locks nothing and needs no transaction.

    Raises:
        django.db.InternalError: As for any write, since nothing could be done about it: the server takes none.
    """
    parameters: dict[str, Any] = {
        "lock_class": LOCK_CLASS,
        "stale_after": stale_after,
        "heeds_signs": heeds_signs,
    }
    with connections[using].cursor() as cursor:
        cursor.execute(_SUSPECTED, parameters)
        read_only, suspected = cursor.fetchone()
    if read_only:
        raise InternalError(READ_ONLY)
    return bool(suspected)


# Why SQL: the ORM knows neither recursion nor LATERAL. An index can't be asked for its distinct beginnings otherwise:
# each step of the recursion is one probe for the next (queue, priority) of a type. Then each lane is read from its
# front (or from behind the caller's mark) to the present, at most as far as the limit, and one probe more tells when
# its next job comes. Reading the lanes through UNION or OR instead would make the planner sort all that is due.
# The lanes go through arrays for the planner's sake: it expects a thousand times as many rows of a recursion as of an
# array, and would compile the statement just in time, which costs 100 ms.
_LANES_OF_TYPES = """
    SELECT type.job_type, first.queue_name, first.priority
    FROM types AS type CROSS JOIN LATERAL (
        SELECT queue_name, priority FROM processing_jobs
        WHERE status = 'pending' AND job_type = type.job_type
        ORDER BY queue_name, priority LIMIT 1
    ) AS first
  UNION ALL
    SELECT lane.job_type, next.queue_name, next.priority
    FROM lanes AS lane CROSS JOIN LATERAL (
        SELECT queue_name, priority FROM processing_jobs
        WHERE status = 'pending' AND job_type = lane.job_type
          AND (queue_name, priority) > (lane.queue_name, lane.priority)
        ORDER BY queue_name, priority LIMIT 1
    ) AS next
"""
_ALL_TYPES = """
    (SELECT job_type FROM processing_jobs WHERE status = 'pending' ORDER BY job_type LIMIT 1)
  UNION ALL
    SELECT next.job_type FROM types AS type CROSS JOIN LATERAL (
        SELECT job_type FROM processing_jobs
        WHERE status = 'pending' AND job_type > type.job_type
        ORDER BY job_type LIMIT 1
    ) AS next
"""
_GIVEN_TYPES = "SELECT DISTINCT unnest(%(job_types)s::text[])"
_FRONT = """
    SELECT lane.*, '-infinity'::timestamptz, 0::bigint
    FROM unnest(
        ARRAY(SELECT job_type FROM lanes), ARRAY(SELECT queue_name FROM lanes), ARRAY(SELECT priority FROM lanes)
    ) AS lane (job_type, queue_name, priority)
    WHERE (%(queue_names)s::text[] IS NULL OR queue_name = ANY (%(queue_names)s::text[]))
      AND queue_name NOT IN (SELECT queue_name FROM paused_queues)
      AND (job_type, queue_name, priority) NOT IN (
          SELECT * FROM unnest(%(but_types)s::text[], %(but_queues)s::text[], %(but_priorities)s::smallint[])
      )
"""
_MARKED = """
    SELECT * FROM unnest(
        %(job_types)s::text[], %(queue_names)s::text[], %(priorities)s::smallint[],
        %(marked_at)s::timestamptz[], %(marked_ids)s::bigint[]
    ) AS lane (job_type, queue_name, priority, after_at, after_id)
    WHERE queue_name NOT IN (SELECT queue_name FROM paused_queues)
"""
# Why SQL: five bounded subqueries in one statement, which the ORM can't put beside each other without a table. What
# is due for longest is the first of some lane.
_COUNT = f"""
WITH RECURSIVE types (job_type) AS ({_ALL_TYPES}), lanes AS ({_LANES_OF_TYPES})
SELECT (SELECT count(*) FROM (SELECT FROM processing_jobs WHERE status = 'pending' LIMIT %(limit)s) AS found),
       (SELECT count(*) FROM (SELECT FROM processing_jobs WHERE status = 'processing' LIMIT %(limit)s) AS found),
       (SELECT count(*) FROM (SELECT FROM processing_jobs WHERE status = 'dead_letter' LIMIT %(limit)s) AS found),
       (SELECT min(first.available_at)
        FROM unnest(
            ARRAY(SELECT job_type FROM lanes), ARRAY(SELECT queue_name FROM lanes), ARRAY(SELECT priority FROM lanes)
        ) AS lane (job_type, queue_name, priority)
        CROSS JOIN LATERAL (
            SELECT available_at FROM processing_jobs AS job
            WHERE status = 'pending' AND job.job_type = lane.job_type AND job.queue_name = lane.queue_name
              AND job.priority = lane.priority AND available_at <= statement_timestamp()
            ORDER BY available_at LIMIT 1
        ) AS first),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'processing_jobs'::regclass)
"""  # noqa: S608 - made of constants


def read_counts(using: str, limit: int) -> tuple[int, int, int, datetime | None, int]:
    """Return how many are pending, processing and dead letters, the oldest due time, and the estimate of all."""
    with connections[using].cursor() as cursor:
        cursor.execute(_COUNT, {"limit": limit})
        pending, processing, dead, oldest, about = cursor.fetchone()
        return pending, processing, dead, oldest, about


#: More deaths than a job can have seen: none is left out for them.
ANY_NUMBER_OF_DEATHS = 2**15
_CLAIM_ORDER = "priority DESC, available_at, id"
_DUE = """
places (job_type, queue_name, priority, after_at, after_id) AS MATERIALIZED ({places}),
due AS MATERIALIZED (
    SELECT place.job_type, place.queue_name, place.priority, job.worker_deaths, job.available_at, job.id
    FROM places AS place CROSS JOIN LATERAL (
        SELECT worker_deaths, available_at, id FROM processing_jobs AS job
        WHERE status = 'pending' AND job.job_type = place.job_type AND job.queue_name = place.queue_name
          AND job.priority = place.priority AND available_at <= statement_timestamp()
          AND (available_at, id) > (place.after_at, place.after_id)
          AND worker_deaths < %(deaths_below)s
        ORDER BY available_at, id LIMIT %(limit)s
    ) AS job
    ORDER BY {order} LIMIT %(limit)s
),
next AS (
    SELECT extract(epoch FROM min(job.available_at) - statement_timestamp())::float8 AS seconds
    FROM places AS place CROSS JOIN LATERAL (
        SELECT available_at FROM processing_jobs AS job
        WHERE status = 'pending' AND job.job_type = place.job_type AND job.queue_name = place.queue_name
          AND job.priority = place.priority AND available_at > statement_timestamp()
        ORDER BY available_at LIMIT 1
    ) AS job
)
"""
_FOUND = f"""
SELECT (SELECT seconds FROM next),
       array_agg(job_type ORDER BY {_CLAIM_ORDER}), array_agg(queue_name ORDER BY {_CLAIM_ORDER}),
       array_agg(priority ORDER BY {_CLAIM_ORDER}), array_agg(worker_deaths ORDER BY {_CLAIM_ORDER})
FROM due
"""  # noqa: S608 - made of constants
_LANES = f"lanes AS ({_LANES_OF_TYPES}), {_DUE.format(places=_FRONT, order=_CLAIM_ORDER)}"
_LOOK_AT_TYPES = f"WITH RECURSIVE types (job_type) AS ({_GIVEN_TYPES}), {_LANES} {_FOUND}"
_LOOK_AT_ALL_TYPES = f"WITH RECURSIVE types (job_type) AS ({_ALL_TYPES}), {_LANES} {_FOUND}"
_LOOK_BEHIND_MARKS = f"WITH {_DUE.format(places=_MARKED, order=_CLAIM_ORDER)} {_FOUND}"

#: Beginning of a statement: ``due`` has a row if any job is due, ``next`` the seconds to the next one that is not.
FIRST_DUE = f"WITH RECURSIVE types (job_type) AS ({_ALL_TYPES}), {_LANES}"
FIRST_DUE_PARAMETERS: dict[str, Any] = {
    "limit": 1,
    "deaths_below": ANY_NUMBER_OF_DEATHS,
    "queue_names": None,
    "but_types": [],
    "but_queues": [],
    "but_priorities": [],
}


def look_for_due_jobs(
    using: str,
    *,
    limit: int,
    deaths_below: int,
    job_types: Sequence[str] | None,
    queue_names: Sequence[str] | None,
    marks: Marks | None = None,
    but: Collection[Lane] = (),
) -> Due:
    """Find the first ``limit`` due jobs, from the front of each lane but some, or behind the marks; lock nothing."""
    parameters: dict[str, Any] = {"limit": limit, "deaths_below": deaths_below}
    if marks and marks.places:
        lanes = list(marks.places)
        parameters |= {
            "job_types": [lane.job_type for lane in lanes],
            "queue_names": [lane.queue_name for lane in lanes],
            "priorities": [lane.priority for lane in lanes],
            "marked_at": [place.available_at for place in marks.places.values()],
            "marked_ids": [place.id for place in marks.places.values()],
        }
        statement = _LOOK_BEHIND_MARKS
    else:
        parameters |= {
            "job_types": None if job_types is None else list(job_types),
            "queue_names": None if queue_names is None else list(queue_names),
            "but_types": [lane.job_type for lane in but],
            "but_queues": [lane.queue_name for lane in but],
            "but_priorities": [lane.priority for lane in but],
        }
        statement = _LOOK_AT_ALL_TYPES if job_types is None else _LOOK_AT_TYPES
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        seconds_to_next, *columns = cursor.fetchone()
    *lanes_of_jobs, worker_deaths = (column or [] for column in columns)  # NULL if nothing is due
    takes, ended = shares(zip(map(Lane, *lanes_of_jobs), worker_deaths, strict=True))
    return Due(takes, ended or len(worker_deaths) == limit, seconds_to_next)


# Why SQL: the lanes again, each counted up to the limit, with its first job.
_READ_LANES = f"""
WITH RECURSIVE types (job_type) AS ({_ALL_TYPES}), lanes AS ({_LANES_OF_TYPES})
SELECT lane.queue_name, found.pending, first.available_at
FROM unnest(
    ARRAY(SELECT job_type FROM lanes), ARRAY(SELECT queue_name FROM lanes), ARRAY(SELECT priority FROM lanes)
) AS lane (job_type, queue_name, priority)
CROSS JOIN LATERAL (
    SELECT count(*) AS pending FROM (
        SELECT FROM processing_jobs AS job
        WHERE status = 'pending' AND job.job_type = lane.job_type AND job.queue_name = lane.queue_name
          AND job.priority = lane.priority
        LIMIT %(limit)s
    ) AS counted
) AS found
LEFT JOIN LATERAL (
    SELECT available_at FROM processing_jobs AS job
    WHERE status = 'pending' AND job.job_type = lane.job_type AND job.queue_name = lane.queue_name
      AND job.priority = lane.priority AND available_at <= statement_timestamp()
    ORDER BY available_at LIMIT 1
) AS first ON true
"""  # noqa: S608 - made of constants


def read_lanes(using: str, limit: int) -> list[tuple[str, int, datetime | None]]:
    """Return of each lane with pending jobs its queue, how many they are up to a limit, and the oldest due time."""
    with connections[using].cursor() as cursor:
        cursor.execute(_READ_LANES, {"limit": limit})
        return list(cursor.fetchall())


# Why SQL: a lateral look for each stretch of ids. Times as numbers, which cost a fraction of what datetimes do.
_SAMPLE = """
SELECT job.* FROM generate_series(%(first)s::bigint, %(last)s::bigint, %(width)s::bigint) AS stretch (begins)
CROSS JOIN LATERAL (
    SELECT id, status, attempts, extract(epoch FROM created_at)::float8, extract(epoch FROM available_at)::float8,
           extract(epoch FROM started_at)::float8, extract(epoch FROM finished_at)::float8
    FROM processing_jobs
    WHERE id >= stretch.begins AND id < stretch.begins + %(width)s
    ORDER BY id LIMIT %(limit)s
) AS job
"""


#: Id, status, attempts, and when the job was enqueued, due, started and done, in seconds since the epoch.
SampledRow = tuple[int, str, int, float, float, float | None, float | None]


def sample_jobs(using: str, first: int, width: int, stretches: int, limit: int) -> list[SampledRow]:
    """Return the first jobs of each stretch of ids.

    Args:
        using: The database's alias.
        first: The first id.
        width: Ids in each stretch.
        stretches: How many.
        limit: Jobs of each stretch.
    """
    parameters = {"first": first, "last": first + width * stretches - 1, "width": width, "limit": limit}
    with connections[using].cursor() as cursor:
        cursor.execute(_SAMPLE, parameters)
        return list(cursor.fetchall())


# Why SQL: the lanes again, each read from its front in claim order, and no further than the limit.
_COUNT_BEFORE = f"""
WITH RECURSIVE types (job_type) AS ({_GIVEN_TYPES}), lanes AS ({_LANES_OF_TYPES}),
places (job_type, queue_name, priority, after_at, after_id) AS MATERIALIZED ({_FRONT})
SELECT count(*) FROM (
    SELECT FROM places AS place CROSS JOIN LATERAL (
        SELECT FROM processing_jobs AS job
        WHERE status = 'pending' AND job.job_type = place.job_type AND job.queue_name = place.queue_name
          AND job.priority = place.priority AND available_at <= statement_timestamp()
          AND (place.priority > %(priority)s OR (available_at, id) < (%(available_at)s, %(id)s))
        LIMIT %(limit)s
    ) AS before
    WHERE place.priority >= %(priority)s
    LIMIT %(limit)s
) AS found
"""  # noqa: S608 - made of constants


def count_due_before(using: str, job: ProcessingJob, job_types: Sequence[str], limit: int) -> int:
    """Return how many due jobs of these types, in queues that aren't paused, are claimed before a job."""
    parameters: dict[str, Any] = {"priority": job.priority, "available_at": job.available_at, "id": job.pk}
    parameters |= {"job_types": list(job_types), "queue_names": None, "limit": limit}
    parameters |= {"but_types": [], "but_queues": [], "but_priorities": []}
    with connections[using].cursor() as cursor:
        cursor.execute(_COUNT_BEFORE, parameters)
        return int(cursor.fetchone()[0])


def is_at_work(using: str, server_process: int) -> bool:
    """Return whether a server process has a transaction, as far as this user may see."""
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s AND state <> 'idle'", [server_process])
        return bool(cursor.rowcount)
