"""A handler whose every run is told in full, for scenarios that end with a verdict (see ``tests.faults.checker``)."""

import os
import signal
import time
from datetime import timedelta
from typing import Any

from django.db import transaction

from jobqueue.backoff import constant
from jobqueue.exceptions import DeadLetter
from jobqueue.handlers import JobContext, job_handler
from tests.testjobs import ledger


@job_handler("test.work", backoff=constant(timedelta(milliseconds=200)))
def work(context: JobContext) -> dict[str, str]:
    """Do what ``plan`` says for this attempt: wait so many ``seconds``, with or without the database, and end ``how``.

    What it returns or raises names its claim's token.
    """
    plan = context.payload["plan"]
    step = plan[min(context.job.attempts, len(plan)) - 1]
    run = {"schema": context.payload["schema"], "job": context.job.pk, "token": str(context.job.lock_token)}
    ledger.write("start", **run, attempt=context.job.attempts, worker=context.job.locked_by)
    how, seen = "raised", None
    try:
        seen = _wait(context, step)
        if step["how"] == "return":
            how = "returned"
            return {"token": run["token"]}
        if step["how"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if step["how"] == "useless":
            how = "useless"
            raise DeadLetter(run["token"])
        raise ValueError(run["token"])
    finally:
        ledger.write("end", **run, how=how, seen_schema=seen)


def _wait(context: JobContext, step: dict[str, Any]) -> str | None:
    """Return the schema that the connection is in, if the step uses the database."""
    if not step["online"]:
        time.sleep(step["seconds"])
        return None
    with transaction.atomic():
        seen = ledger.current_schema()
        if step["online"] == "holding":
            context.progress(50)  # from here on nobody can renew the lock
        time.sleep(step["seconds"])
    return seen
