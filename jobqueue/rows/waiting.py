"""What waits, for people: bounded reads of the lanes. No tenant is named: the search_path decides."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connections

from jobqueue.models import ProcessingJob
from jobqueue.rows.due_jobs import ALL_TYPES, FRONT, GIVEN_TYPES, LANES_OF_TYPES

# Why SQL: the lanes again, each counted up to the limit, with its first job.
_READ_LANES = f"""
WITH RECURSIVE types (job_type) AS ({ALL_TYPES}), lanes AS ({LANES_OF_TYPES})
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


# Why SQL: the lanes again, each read from its front in claim order, and no further than the limit.
_COUNT_BEFORE = f"""
WITH RECURSIVE types (job_type) AS ({GIVEN_TYPES}), lanes AS ({LANES_OF_TYPES}),
places (job_type, queue_name, priority, after_at, after_id) AS MATERIALIZED ({FRONT})
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
