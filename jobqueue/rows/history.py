"""The bounded record of a job's attempts, written by the statement that ends an attempt."""

from collections.abc import Sequence

from django.db import connections
from django.db.models import JSONField
from django.db.models.expressions import RawSQL

from jobqueue.error_text import summary
from jobqueue.states import Outcome

#: Older attempts are dropped from the record (not from the count).
MAX_ENTRIES = 20


#: The ``history`` of the row being updated with its running attempt added, ended now; parameters: outcome and error.
#: Built from the row's own columns as they were before the update, so that one statement serves many rows.
ADD_ATTEMPT = f"""
    CASE WHEN jsonb_array_length(history) >= {MAX_ENTRIES:d} THEN history - 0 ELSE history END
    || jsonb_build_object(
        'attempt', attempts, 'worker', locked_by, 'started_at', started_at,
        'ended_at', statement_timestamp(), 'outcome', %s::text, 'error', %s::text
    )
"""


def with_attempt(outcome: Outcome, error: str = "") -> RawSQL:
    """Return the new ``history`` for an ``update()`` that ends an attempt."""
    return RawSQL(ADD_ATTEMPT, (outcome.value, summary(error)), output_field=JSONField())  # noqa: S611 - a constant


def with_cancelled_attempt() -> RawSQL:
    """Return the new ``history`` for an ``update()`` that cancels a running attempt.

    It keeps the worker's sign of life, so that whoever waits for the handler's end knows whether it will be told.
    """
    sql = ADD_ATTEMPT.rstrip()[:-1] + ", 'holder_key', holder_key)"
    return RawSQL(sql, (Outcome.CANCELLED.value, ""), output_field=JSONField())  # noqa: S611 - a constant


#: In the entry of an attempt that was cancelled while it ran: when its handler was no longer at work.
STOPPED_AT = "stopped_at"
# Why SQL: the ORM can't write into the last element of an array. A row that somebody has locked isn't waited for.
_NOTE_STOPPED = f"""
UPDATE processing_jobs SET history = jsonb_set(history, '{{-1,{STOPPED_AT}}}', to_jsonb(statement_timestamp()))
WHERE id IN (SELECT id FROM processing_jobs WHERE id = ANY (%s) ORDER BY id FOR UPDATE SKIP LOCKED)
  AND history -> -1 ->> 'outcome' = '{Outcome.CANCELLED.value}' AND history -> -1 ->> 'worker' = %s
  AND NOT history -> -1 ? '{STOPPED_AT}'
"""  # noqa: S608 - made of constants


def note_stopped(using: str, job_ids: Sequence[int], worker: str) -> None:
    """Note of those of these jobs that were cancelled while this worker ran them, that their handlers have ended."""
    with connections[using].cursor() as cursor:
        cursor.execute(_NOTE_STOPPED, [list(job_ids), worker])
