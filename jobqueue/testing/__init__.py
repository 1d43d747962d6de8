"""For the tests of a project: run jobs where the test runs, and say what must have been enqueued.

With pytest, ``pytest_plugins = ["jobqueue.testing.plugin"]`` adds the fixtures ``run_jobs`` and ``immediate_jobs``.
"""

from jobqueue.testing.assertions import assert_enqueued, assert_not_enqueued, enqueued
from jobqueue.testing.immediate import immediate
from jobqueue.testing.running import JobsFailed, let_pass, run_jobs

__all__ = ["JobsFailed", "assert_enqueued", "assert_not_enqueued", "enqueued", "immediate", "let_pass", "run_jobs"]
