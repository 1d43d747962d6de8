"""How many jobs there are, without reading a large table."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connections

from jobqueue.models import ProcessingJob
from jobqueue.rows.due_jobs import ALL_TYPES, LANES_OF_TYPES

#: More than this many are not counted on.
LIMIT = 100_000

# Why SQL: five bounded subqueries in one statement, which the ORM can't put beside each other without a table. What
# is due for longest is the first of some lane.
_COUNT = f"""
WITH RECURSIVE types (job_type) AS ({ALL_TYPES}), lanes AS ({LANES_OF_TYPES})
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


@dataclass(frozen=True)
class Counts:
    """What is of interest to an operator, each counted up to ``LIMIT``."""

    pending: int
    processing: int
    dead_letter: int
    #: Since when the pending job that is due for longest is due; None if none is.
    oldest_due: datetime | None
    #: All rows as the planner estimates them: finished jobs are the bulk, and an exact count would read them all.
    about: int


def count_jobs(using: str = "default") -> Counts:
    """Count the jobs of the active schema, by their partial indexes, in one statement."""
    return Counts(*read_counts(using, LIMIT))


#: Up to so many rows a table is counted exactly; the planner's estimate of a small one may be far out.
_SMALL = 10_000


def count_all(using: str, counts: Counts) -> tuple[int, bool]:
    """Return how many jobs there are in all, and whether that is exact."""
    if counts.about > _SMALL:
        return counts.about, False
    counted = ProcessingJob.objects.using(using).values("pk")[: _SMALL + 1].count()
    return counted, counted <= _SMALL
