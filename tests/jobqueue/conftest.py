"""What the queue's tests share: a queue in the tenant of the test, and jobs in any state."""

import pytest

from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs


@pytest.fixture
def queue(tenant: str) -> Queue:
    """The queue of the tenant; each test that uses it runs in both."""
    return Queue()


@pytest.fixture
def jobs(queue: Queue) -> Jobs:
    return Jobs(queue)
