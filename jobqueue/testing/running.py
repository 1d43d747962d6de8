"""Run what is due the way a worker does, in the test's own thread and transaction."""

from collections.abc import Mapping, Sequence
from functools import partial

from django.db import connections, transaction
from psycopg.pq import TransactionStatus

from jobqueue import handlers
from jobqueue.error_text import summary
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.tenant_source import current_tenant, tenant_source
from jobqueue.worker.executor import Claim, Ending, execute, traced
from jobqueue.worker.recording import record

WORKER = "test"


class JobsFailed(AssertionError):
    """Jobs failed in a test that didn't expect it; the message has their tracebacks."""


def run_jobs(
    *,
    job_types: Sequence[str] | None = None,
    queue_names: Sequence[str] | None = None,
    allow_failures: bool = False,
    at_most: int = 1000,
    using: str = "default",
) -> list[ProcessingJob]:
    """Claim, execute and record due jobs of the active tenant until none is due, also those that they enqueue.

    A failed attempt waits for its backoff, as ever: ``let_pass`` brings the next. Time limits don't apply, and
    ``isolation="process"`` runs in this process. What a handler does in the database is part of the test's transaction;
    if it breaks that, all it did is rolled back.

    Args:
        job_types: Only these; None: all that have a handler.
        queue_names: Only from these queues; None: any.
        allow_failures: False: raise if an attempt failed. It is recorded all the same.
        at_most: So many runs are enough; more look like a job that enqueues itself for ever.
        using: Alias of the database.

    Returns:
        The jobs that ran, in this order, as their rows say after the last of them.

    Raises:
        JobsFailed: An attempt failed.
        AssertionError: Jobs are still due after ``at_most`` runs.
    """
    queue = Queue(using)
    types = list(handlers.registered()) if job_types is None else job_types
    endings: list[Ending] = []
    while jobs := queue.dequeue_many(WORKER, 1, types, queue_names):
        if len(endings) == at_most:
            raise AssertionError(f"{at_most} jobs have run and more are due: does {jobs[0]} enqueue itself?")
        ending = attempt(queue, jobs[0])
        with transaction.atomic(using):
            record(queue, [ending])
        endings.append(ending)
    failures = [ending for ending in endings if ending.failure]
    rows = ProcessingJob.objects.using(using).in_bulk([ending.claim.job.pk for ending in endings])
    if failures and not allow_failures:
        raise JobsFailed(told(failures, rows))
    return [rows[ending.claim.job.pk] for ending in endings if ending.claim.job.pk in rows]


def attempt(queue: Queue, job: ProcessingJob) -> Ending:
    """Run a claimed job, without a word about its end in its row."""
    connection = connections[queue.using]
    claim = Claim(current_tenant(), job)
    point = connection.savepoint() if connection.in_atomic_block else None
    ending = traced(claim, partial(execute, claim, queue, tenant_source(), lambda function, context: function(context)))
    if point is not None:
        broken = connection.connection.info.transaction_status == TransactionStatus.INERROR
        if broken or connection.needs_rollback:
            connection.needs_rollback = False
            connection.savepoint_rollback(point)
        connection.savepoint_commit(point)
    return ending


def told(failures: Sequence[Ending], rows: Mapping[int, ProcessingJob]) -> str:
    """Return what is said about failed attempts, given the rows of their jobs that there still are."""
    lines = [f"{len(failures)} of the jobs failed; allow_failures=True if they should."]
    for ending in failures:
        job, failure = ending.claim.job, ending.failure
        if failure:
            now = rows[job.pk].status if job.pk in rows else "deleted"
            attempt = f"attempt {job.attempts} of {job.max_attempts}, now {now}"
            lines += ["", f"{job}, {attempt}: {summary(failure.text)}", failure.text.partition("\n")[2].strip()]
    return "\n".join(lines)
