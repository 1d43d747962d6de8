"""Fixtures for pytest with pytest-django: ``pytest_plugins = ["jobqueue.testing.plugin"]`` in a conftest.py."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from jobqueue import testing
from jobqueue.models import ProcessingJob


@pytest.fixture
def run_jobs(db: None) -> Callable[..., list[ProcessingJob]]:
    """``jobqueue.testing.run_jobs``, with the test's database."""
    return testing.run_jobs


@pytest.fixture
def immediate_jobs(db: None) -> Iterator[Any]:
    """Run each job as soon as it is enqueued, all through the test."""
    with testing.immediate():
        yield


@pytest.fixture
def queue_clock(db: None) -> testing.QueueClock:
    """A ``jobqueue.testing.QueueClock`` that starts with the test."""
    return testing.QueueClock()


@pytest.fixture
def crash_worker(db: None) -> Callable[..., ProcessingJob]:
    """``jobqueue.testing.crash_worker``, with the test's database."""
    return testing.crash_worker
