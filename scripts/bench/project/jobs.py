"""The handlers of the benchmark."""

import time

from jobqueue.handlers import JobContext, job_handler
from scripts.bench.marks import mark

NOOP = "bench.noop"
NAP = "bench.nap"


@job_handler(NOOP)
def noop(context: JobContext) -> None:
    """Do nothing but say so."""
    mark(context.payload["number"])


@job_handler(NAP)
def nap(context: JobContext) -> None:
    """Be a job that takes its time."""
    mark(context.payload["number"])
    time.sleep(context.payload["seconds"])
