"""Which running jobs may have lost their worker. No tenant is named: the search_path decides."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import InternalError, connections

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
