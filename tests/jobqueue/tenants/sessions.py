"""Sessions that enqueue in a tenant by plain SQL, step by step, beside the worker that the test is."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection, transaction

from dms_project.tenancy import use
from jobqueue.tenants.ledger import WakeupLedger

_ENQUEUE = """
INSERT INTO processing_jobs (job_type, payload, available_at)
VALUES ('test.ok', '{}', statement_timestamp() + make_interval(secs => %s)) RETURNING id
"""
# What must hold whenever no transaction is open: each job is found in time by whoever reads the ledger alone. The
# second that it allows is more than a settling worker needs from its look to the row that it leaves for later.
_FORGOTTEN = """
SELECT id, status, available_at FROM {tenant}.processing_jobs AS job
WHERE status IN ('pending', 'processing')
  AND (status = 'processing' OR queue_name NOT IN (SELECT queue_name FROM {tenant}.paused_queues))
  AND NOT EXISTS (
      SELECT FROM public.jobqueue_wakeups WHERE tenant = '{tenant}' AND due_at <= CASE status
          WHEN 'pending' THEN greatest(available_at + interval '1s', clock_timestamp())
          ELSE clock_timestamp() + interval '10s' END
  )
"""


class Session:
    """One connection in one tenant."""

    def __init__(self, url: str, tenant: str) -> None:
        self.raw = psycopg.connect(url, autocommit=True)
        self.raw.execute(f"SET search_path = {tenant}, extensions")
        self.raw.execute("SET lock_timeout = '2s'")  # whoever waits for a worker fails

    def begin(self, isolation: str = "READ COMMITTED") -> None:
        self.raw.execute(f"BEGIN ISOLATION LEVEL {isolation}")
        self.raw.execute("SELECT 1 FROM processing_jobs LIMIT 1")  # takes the snapshot, where there is only one

    def enqueue(self, seconds: float = -1) -> int:
        """Add a job that is due in so many seconds."""
        row = self.raw.execute(_ENQUEUE, [seconds]).fetchone()
        assert row is not None
        return int(row[0])

    def commit(self) -> None:
        self.raw.execute("COMMIT")

    def rollback(self) -> None:
        self.raw.execute("ROLLBACK")

    def execute(self, statement: str) -> None:
        self.raw.execute(statement)


@contextmanager
def session(url: str, tenant: str) -> Iterator[Session]:
    opened = Session(url, tenant)
    try:
        yield opened
    finally:
        opened.raw.close()


def rows(tenant: str) -> list[float]:
    """Return in how many seconds the tenant's rows are due, the first first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM due_at - clock_timestamp())::float8 FROM public.jobqueue_wakeups "
            "WHERE tenant = %s ORDER BY due_at",
            [tenant],
        )
        return [row[0] for row in cursor.fetchall()]


def forgotten(tenant: str) -> list[tuple[object, ...]]:
    """Return the jobs that nobody would find who reads the ledger alone."""
    with connection.cursor() as cursor:
        cursor.execute(_FORGOTTEN.format(tenant=tenant))
        return cursor.fetchall()


def settle(tenant: str, before_commit: Callable[[], object] = lambda: None) -> bool:
    """Settle a tenant as a worker does."""
    with use(tenant), transaction.atomic():
        settled = WakeupLedger("default").settle(tenant)
        before_commit()
    return settled
