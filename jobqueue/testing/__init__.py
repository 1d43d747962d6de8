"""For the tests of a project: run jobs where the test runs, and say what must have been enqueued.

With pytest, ``pytest_plugins = ["jobqueue.testing.plugin"]`` adds the fixtures ``run_jobs``, ``immediate_jobs``,
``queue_clock`` and ``crash_worker``.
"""

from jobqueue.testing.assertions import assert_enqueued, assert_not_enqueued, enqueued
from jobqueue.testing.clock import QueueClock, let_pass
from jobqueue.testing.crashes import WorkerDied, crash_worker
from jobqueue.testing.immediate import immediate
from jobqueue.testing.running import JobsFailed, run_jobs

__all__ = [
    "JobsFailed",
    "QueueClock",
    "WorkerDied",
    "assert_enqueued",
    "assert_not_enqueued",
    "crash_worker",
    "enqueued",
    "immediate",
    "let_pass",
    "run_jobs",
]
