"""Which jobs are due, lane by lane, without locking any. No tenant is named: the search_path decides."""

from collections.abc import Collection, Sequence
from typing import Any

from django.db import connections

from jobqueue.rows.lanes import Due, Lane, Marks, shares

# Why SQL: the ORM knows neither recursion nor LATERAL. An index can't be asked for its distinct beginnings otherwise:
# each step of the recursion is one probe for the next (queue, priority) of a type. Then each lane is read from its
# front (or from behind the caller's mark) to the present, at most as far as the limit, and one probe more tells when
# its next job comes. Reading the lanes through UNION or OR instead would make the planner sort all that is due.
# The lanes go through arrays for the planner's sake: it expects a thousand times as many rows of a recursion as of an
# array, and would compile the statement just in time, which costs 100 ms.
LANES_OF_TYPES = """
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
ALL_TYPES = """
    (SELECT job_type FROM processing_jobs WHERE status = 'pending' ORDER BY job_type LIMIT 1)
  UNION ALL
    SELECT next.job_type FROM types AS type CROSS JOIN LATERAL (
        SELECT job_type FROM processing_jobs
        WHERE status = 'pending' AND job_type > type.job_type
        ORDER BY job_type LIMIT 1
    ) AS next
"""
GIVEN_TYPES = "SELECT DISTINCT unnest(%(job_types)s::text[])"
FRONT = """
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
_LANES = f"lanes AS ({LANES_OF_TYPES}), {_DUE.format(places=FRONT, order=_CLAIM_ORDER)}"
_LOOK_AT_TYPES = f"WITH RECURSIVE types (job_type) AS ({GIVEN_TYPES}), {_LANES} {_FOUND}"
_LOOK_AT_ALL_TYPES = f"WITH RECURSIVE types (job_type) AS ({ALL_TYPES}), {_LANES} {_FOUND}"
_LOOK_BEHIND_MARKS = f"WITH {_DUE.format(places=_MARKED, order=_CLAIM_ORDER)} {_FOUND}"

#: Beginning of a statement: ``due`` has a row if any job is due, ``next`` the seconds to the next one that is not.
FIRST_DUE = f"WITH RECURSIVE types (job_type) AS ({ALL_TYPES}), {_LANES}"
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
