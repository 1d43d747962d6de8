"""Handlers that record their own success, in the transaction that does their work."""

import os
import signal
import time
from datetime import timedelta
from typing import Any

from django.db import connection, transaction

from jobqueue.backoff import constant
from jobqueue.handlers import JobContext, job_handler
from tests.testjobs.limited import note


def _work(context: JobContext) -> None:
    """An effect in the database that is to be there exactly once."""
    context.queue.enqueue("test.effect", {"of": context.job.pk})


def complete_and(then: str, context: JobContext) -> Any:
    note("start", context)
    with transaction.atomic():
        _work(context)
        context.complete({"from": "the transaction"})
        if then == "raise inside":
            raise ValueError("after it was complete")
        if then == "hang inside":
            time.sleep(600)
    if then == "raise after":
        raise ValueError("after the commit")
    if then == "die after":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "hang after":
        time.sleep(600)
    if then == "work on":
        time.sleep(2.5)
    note("end", context)
    return {"from": "the return"}


@job_handler("test.self_complete", backoff=constant(timedelta(0)), timeout=timedelta(seconds=4))
def complete(context: JobContext) -> Any:
    """Complete in the transaction that does the work, and ``then`` do something else."""
    return complete_and(context.payload["then"], context)


@job_handler("test.self_complete_now", backoff=constant(timedelta(0)))
def complete_now(context: JobContext) -> None:
    """Complete without a transaction."""
    context.complete(1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT status FROM processing_jobs WHERE id = %s", [context.job.pk])
        note(cursor.fetchone()[0], context)
