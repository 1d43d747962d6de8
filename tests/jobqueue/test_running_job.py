"""Code that a handler runs can be told which job it belongs to."""

from jobqueue.queue import Queue
from jobqueue.running_job import running_job
from jobqueue.tenant_source import tenant_source
from jobqueue.worker.executor import Claim, execute
from tests.jobqueue.jobs import Jobs


def test_it_is_known_while_the_handler_runs_and_no_longer(queue: Queue, jobs: Jobs, tenant: str) -> None:
    job = jobs.processing()
    seen = []

    ending = execute(
        Claim(tenant, job), queue, tenant_source(), lambda handler, context: seen.append(running_job.get())
    )

    assert ending.failure is None
    assert seen == [job]
    assert running_job.get() is None
