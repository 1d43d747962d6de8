"""The bounded record of a job's attempts, written by the statement that ends an attempt."""

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
