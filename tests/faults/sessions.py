"""Whose session is whose: what PostgreSQL says about the connections of workers."""

from django.db import connection

from jobqueue.sign_of_life import LOCK_CLASS

KEEPERS = f"pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = {LOCK_CLASS})"
# Those of handlers that have written to the ledger and done nothing since.
HANDLERS = "query = 'SELECT current_schema()'"
#: Conditions by the name of a loop.
LOOPS = {name: f"application_name LIKE '%jobqueue {name}'" for name in ("keeper", "dispatcher", "recorder")}


def backends(condition: str) -> set[int]:
    """Return the ids of the sessions in the test's database, other than the test's own, of which this is true."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pid FROM pg_stat_activity "
            f"WHERE datname = current_database() AND pid <> pg_backend_pid() AND {condition}"
        )
        return {int(pid) for (pid,) in cursor.fetchall()}


def end(pid: int) -> None:
    """End a session, as an administrator does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
