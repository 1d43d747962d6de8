"""Some jobs of each time, for charts. No tenant is named: the search_path decides."""

from django.db import connections

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
