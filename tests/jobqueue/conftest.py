"""What the queue's tests share: a queue in the tenant of the test, jobs in any state, and worker processes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs
from tests.jobqueue.workers import BothTenants, WorkerProcess, environment


@pytest.fixture
def queue(tenant: str) -> Queue:
    """The queue of the tenant; each test that uses it runs in both."""
    return Queue()


@pytest.fixture
def jobs(queue: Queue) -> Jobs:
    return Jobs(queue)


@pytest.fixture
def both(committed_db: None, tmp_path: Path) -> BothTenants:
    """Both tenants at once, for worker processes: they serve every tenant."""
    return BothTenants(tmp_path / "ledger")


class Start(Protocol):
    def __call__(self, *arguments: str, variables: dict[str, str] | None = None, **durations: float) -> WorkerProcess:
        """Start ``manage.py runworker`` with these arguments and durations in seconds."""
        ...


@pytest.fixture
def start(both: BothTenants, database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts worker processes, and ends them with the test."""
    workers: list[WorkerProcess] = []

    def start(*arguments: str, variables: dict[str, str] | None = None, **durations: float) -> WorkerProcess:
        variables = environment(database_url, both.ledger_file, **durations) | (variables or {})
        workers.append(WorkerProcess(arguments, variables, tmp_path / f"worker-{len(workers)}.log"))
        return workers[-1]

    yield start
    for worker in workers:
        worker.end()
        print(f"--- {worker.log.name}\n{worker.output}")  # shown when the test has failed
