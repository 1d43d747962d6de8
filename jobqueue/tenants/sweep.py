"""Looking into every tenant now and then: a bug, a restored dump or a disabled trigger may have lost a wake-up."""

import logging
import random
from collections.abc import Callable, Sequence
from datetime import timedelta

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now
from django.db.utils import DatabaseError
from psycopg.sql import SQL, Composable, Identifier, Literal

from jobqueue.conf import conf
from jobqueue.tenants.models import Sweep

logger = logging.getLogger("jobqueue.worker")

#: How many tenants one turn looks into; in which time it is the fleet's next turn at the soonest.
_BATCH = 500
#: How many of them by one statement, which locks each table and its indexes.
_AT_ONCE = 100
_SOONEST_SECONDS = 1.0
_LOCK_TIMEOUT = "SET lock_timeout = '1s'"


def sweep(using: str, names: Callable[[], Sequence[str]]) -> float:
    """Take the fleet's next turn if it is time: wake those of the next tenants that have jobs and aren't awake.

    On a connection of its own, which ends with it: so no backend collects the catalogue of all schemas.

    Args:
        using: The database's alias.
        names: Tells all tenants.

    Returns:
        After how many seconds to call this again.
    """
    turns = Sweep.objects.using(using)
    left = ExpressionWrapper(F("due_at") - Now(), output_field=DurationField())
    waiting: timedelta | None = turns.values_list(left, flat=True).first()
    if waiting is not None and waiting > timedelta(0):
        return waiting.total_seconds() + random.uniform(0, _SOONEST_SECONDS)  # noqa: S311 - jitter
    if waiting is None:  # the row is gone: a restored dump may lack it
        turns.get_or_create(pk=1, defaults={"after": ""})
    with transaction.atomic(using):
        turn = turns.filter(due_at__lte=Now()).select_for_update(skip_locked=True).first()
        if turn is None:
            return _SOONEST_SECONDS  # somebody else has it
        everybody = sorted(names())
        batch = [name for name in everybody if name > turn.after][:_BATCH]
        turns.update(
            after=batch[-1] if len(batch) == _BATCH else "",
            due_at=Now() + timedelta(seconds=_pace(len(everybody))),
        )
    _wake_if_forgotten(using, batch)
    return _pace(len(everybody))


def _pace(tenants: int) -> float:
    """Return the seconds between two turns of the fleet."""
    turns = tenants // _BATCH + 1
    return max(_SOONEST_SECONDS, conf().sweep_interval.total_seconds() / turns)


def _wake_if_forgotten(using: str, tenants: Sequence[str]) -> None:
    connection = connections[using].copy()
    try:
        with connection.cursor() as cursor:
            cursor.execute(_LOCK_TIMEOUT)
            cursor.execute(_WITH_TABLE, [list(tenants)])
            names = [row[0] for row in cursor.fetchall()]
            with_jobs = []
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                try:
                    with_jobs += _those_with_jobs(cursor, some)
                except DatabaseError:  # some table is locked or broken
                    with_jobs += [name for name in some if _has_jobs(cursor, name)]
            if with_jobs:
                cursor.execute(_WAKE, [with_jobs, conf().sweep_interval.total_seconds()])
    except DatabaseError as error:  # no room for one more connection, say: the caller's own is in order
        logger.warning("some tenants could not be looked into for forgotten jobs: %s", str(error).split("\n", 1)[0])
    finally:
        connection.close()


def _has_jobs(cursor: CursorWrapper, name: str) -> bool:
    try:
        return bool(_those_with_jobs(cursor, [name]))
    except DatabaseError:
        return False  # its turn comes again


def _those_with_jobs(cursor: CursorWrapper, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    cursor.execute(SQL(" UNION ALL ").join(map(_has_jobs_sql, names)))
    return [row[0] for row in cursor.fetchall()]


# Why SQL: tables of many schemas in one statement.
def _has_jobs_sql(name: str) -> Composable:
    return SQL(_HAS_JOBS).format(name=Literal(name), table=Identifier(name, "processing_jobs"))


_HAS_JOBS = """
SELECT {name} WHERE EXISTS (SELECT FROM {table} WHERE status = 'pending')
                 OR EXISTS (SELECT FROM {table} WHERE status = 'processing')
"""
_WITH_TABLE = """
SELECT name FROM unnest(%s::text[]) AS name
WHERE to_regclass(format('%%I.processing_jobs', name)) IS NOT NULL
"""
_WAKE = """
SELECT public.jobqueue_wake(name, statement_timestamp()) FROM unnest(%s::text[]) AS name
WHERE NOT EXISTS (
    SELECT FROM public.jobqueue_wakeups
    WHERE tenant = name AND due_at < statement_timestamp() + make_interval(secs => %s)
)
"""
