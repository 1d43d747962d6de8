"""Which tenants' schedules are due, read from one table for all of them. docs/adr/0010 has the reasons."""

import json
from collections.abc import Iterable, Sequence

from django.db import connections

from jobqueue.schedules import Schedule

#: How many schedules one worker takes at once, and for how long the others leave them to it.
_BATCH = 100
_PUT_OFF_SECONDS = 30

# Why SQL: a query with several tables of values, and an update that skips locked rows and returns what it took.
_WITHOUT = """
SELECT DISTINCT tenant
FROM unnest(%s::text[]) AS tenant
CROSS JOIN jsonb_to_recordset(%s) AS declared (name text, timetable text, tenants jsonb)
LEFT JOIN public.jobqueue_due_schedules AS known USING (tenant, name)
WHERE (declared.tenants IS NULL OR declared.tenants @> to_jsonb(tenant))
  AND (known.timetable IS NULL
       OR known.timetable <> declared.timetable AND (known.due_at IS NULL OR known.due_at > statement_timestamp()))
"""
_NEXT = """
SELECT due_at - statement_timestamp() FROM public.jobqueue_due_schedules
WHERE due_at IS NOT NULL AND (NOT in_code OR name = ANY(%(declared)s))
  AND (%(only)s::text[] IS NULL OR tenant = ANY(%(only)s))
ORDER BY due_at LIMIT 1
"""
_TAKE = """
WITH taken AS (
    SELECT tenant, name FROM public.jobqueue_due_schedules
    WHERE due_at <= statement_timestamp() AND (NOT in_code OR name = ANY(%(declared)s))
      AND (%(only)s::text[] IS NULL OR tenant = ANY(%(only)s))
    ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE public.jobqueue_due_schedules AS due SET due_at = statement_timestamp() + make_interval(secs => %(put_off)s)
FROM taken WHERE due.tenant = taken.tenant AND due.name = taken.name
RETURNING due.tenant
"""


def without(using: str, tenants: Sequence[str], declared: Iterable[Schedule]) -> list[str]:
    """Return those of the tenants that lack one of these schedules, or have it with other times."""
    texts = [{"name": each.name, "timetable": str(each.when), "tenants": each.tenants} for each in declared]
    with connections[using].cursor() as cursor:
        cursor.execute(_WITHOUT, [list(tenants), json.dumps(texts)])
        return [row[0] for row in cursor.fetchall()]


def take_due(using: str, declared: Iterable[str], only: Sequence[str] | None) -> tuple[list[str], float]:
    """Put off what is due, and return in which tenants that is, and in how many seconds something is if nothing is."""
    arguments = {"declared": list(declared), "only": None if only is None else list(only)}
    with connections[using].cursor() as cursor:
        cursor.execute(_NEXT, arguments)
        next_row = cursor.fetchone()
        if next_row is None:
            return [], float("inf")
        if (seconds := next_row[0].total_seconds()) > 0:
            return [], seconds
        cursor.execute(_TAKE, {**arguments, "limit": _BATCH, "put_off": _PUT_OFF_SECONDS})
        return list(dict.fromkeys(row[0] for row in cursor.fetchall())), 0.0
