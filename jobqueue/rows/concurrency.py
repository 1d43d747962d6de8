"""At most so many running jobs of a key: a job holds one of the key's slots while it runs, and is blocked without.

docs/adr/0011 has the protocol. What frees a slot is told by triggers (migration 0006), which unblock the next jobs.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import connections

from jobqueue.models import ProcessingJob

#: The first of the two numbers of the advisory lock under which slots are given and jobs blocked and unblocked; the
#: second is made of the schema's name. The migration has it, too.
LOCK_CLASS = 0x4A4F424C  # "JOBL"
#: Where the time of a blocked job lies: claims read the jobs for later as far as the first of them.
BLOCKED_UNTIL = datetime(9000, 1, 1, tzinfo=UTC)
#: Jobs of a key that one claim blocks at most; the next goes on.
_BLOCKED_AT_ONCE = 10_000
#: Keys that one look for forgotten jobs takes.
_KEYS = 1_000

# Why SQL: advisory locks are no model. The lock comes in a statement of its own, so that the next one's snapshot is
# younger, and shows all that was done under it.
_LOCK = "SELECT pg_advisory_xact_lock(%s, hashtext(current_schema()))"
# Why SQL: what the claim has locked, and more of the same, in one statement; a row that somebody else has locked is
# left to whoever finds it next. The ids come in an array, so that the planner runs the look once.
_BLOCK = """
WITH full_key AS (SELECT * FROM unnest(%s::text[], %s::int[]) AS full_key (key, running)),
due AS MATERIALIZED (
    SELECT job.id FROM full_key CROSS JOIN LATERAL (
        SELECT id FROM processing_jobs
        WHERE status = 'pending' AND concurrency_key = full_key.key AND available_at <= statement_timestamp()
          AND concurrency_limit <= full_key.running AND id <> ALL (%s::bigint[])
        ORDER BY available_at LIMIT %s FOR UPDATE SKIP LOCKED
    ) AS job
)
UPDATE processing_jobs SET blocked_due_at = available_at, available_at = %s WHERE id = ANY (ARRAY(SELECT id FROM due))
"""
# Why SQL: DISTINCT would read all that is blocked; each step of this is one probe of the index.
_UNBLOCK = """
WITH RECURSIVE keys (key) AS (
    (SELECT concurrency_key FROM processing_jobs WHERE blocked_due_at IS NOT NULL ORDER BY concurrency_key LIMIT 1)
  UNION ALL
    SELECT next.concurrency_key FROM keys CROSS JOIN LATERAL (
        SELECT concurrency_key FROM processing_jobs
        WHERE blocked_due_at IS NOT NULL AND concurrency_key > keys.key ORDER BY concurrency_key LIMIT 1
    ) AS next
)
SELECT coalesce(sum(jobqueue_unblock(key)), 0) FROM (SELECT key FROM keys LIMIT %s) AS keys
"""


def admit(using: str, jobs: Sequence[ProcessingJob]) -> list[ProcessingJob]:
    """Return those of the jobs that may run, in order, each with its slot; block the others, and all of their keys.

    Costs nothing where none has a key. Else it waits for commits that free slots; the rows must be locked, and stay so.

    Args:
        using: The database's alias.
        jobs: Pending ones in claim order.
    """
    keys = {job.concurrency_key for job in jobs if job.concurrency_key is not None}
    if not keys:
        return list(jobs)
    with connections[using].cursor() as cursor:
        cursor.execute(_LOCK, [LOCK_CLASS])
    held: dict[str, set[int]] = {key: set() for key in keys}
    rows = ProcessingJob.objects.using(using).filter(concurrency_key__in=keys, concurrency_slot__isnull=False)
    for key, slot in rows.values_list("concurrency_key", "concurrency_slot"):
        held[str(key)].add(slot or 0)
    admitted, full = [], set()
    for job in jobs:
        if job.concurrency_key is not None:
            slots = held[job.concurrency_key]
            if len(slots) >= (job.concurrency_limit or 1):
                full.add(job.concurrency_key)
                continue
            job.concurrency_slot = min(set(range(1, len(slots) + 2)) - slots)
            slots.add(job.concurrency_slot)
        admitted.append(job)
    if full:
        running = [len(held[key]) for key in sorted(full)]
        taken = [job.pk for job in admitted]
        with connections[using].cursor() as cursor:
            cursor.execute(_BLOCK, [sorted(full), running, taken, _BLOCKED_AT_ONCE, BLOCKED_UNTIL])
    return admitted


def unblock_forgotten(using: str) -> int:
    """Unblock what has a free slot all the same, and return how many jobs: the next one's row may have been locked.

    One probe of an index where nothing is blocked.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(_UNBLOCK, [_KEYS])
        return int(cursor.fetchone()[0])
