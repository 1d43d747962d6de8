"""Q51: how a worker ends when it is told to, and what becomes of the jobs that it holds."""

import signal
from pathlib import Path

import pytest

from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import BothTenants


@pytest.fixture
def go(both: BothTenants) -> Path:
    """The file that running ``test.sleep`` jobs wait for."""
    return both.ledger_file.with_name("go")


def test_a_stopping_worker_finishes_what_runs_and_claims_no_more(both: BothTenants, start: Start, go: Path) -> None:
    running = both.enqueue("test.sleep", {"until": str(go)})
    worker = start("--concurrency", "4")
    both.have_started(running)

    worker.signal(signal.SIGTERM)
    worker.has_said("stopping: 2 jobs still run")
    late = both.enqueue("test.ok")
    go.touch()

    assert worker.status() == 0
    assert running.are(status="succeeded", attempts=1)
    assert late.are(status="pending", attempts=0)
    assert "Traceback" not in worker.output


def test_a_job_longer_than_the_grace_time_is_given_back_and_run_by_the_next_worker_at_once(
    both: BothTenants, start: Start, go: Path
) -> None:
    long = both.enqueue("test.sleep", {"until": str(go)}, max_attempts=1)
    first = start("--concurrency", "2", shutdown_grace=0.3, stale_lock_after=600)
    both.have_started(long)

    assert first.terminate() == 0
    assert long.are(status="pending", attempts=0)
    assert all(row.history[-1]["outcome"] == "released" for row in long.rows())

    second = start("--concurrency", "2", stale_lock_after=600)
    both.have_started(long, times=2)
    go.touch()
    long.become("succeeded")
    assert long.are(attempts=1)
    assert second.terminate() == 0


def test_a_second_signal_gives_back_at_once_what_runs(both: BothTenants, start: Start, go: Path) -> None:
    long = both.enqueue("test.sleep", {"until": str(go)})
    worker = start("--concurrency", "2", shutdown_grace=600)
    both.have_started(long)

    worker.signal(signal.SIGINT)
    worker.has_said("stopping: 2 jobs still run")
    assert worker.alive
    worker.signal(signal.SIGTERM)

    assert worker.status() == 0
    assert long.are(status="pending", attempts=0)
    assert worker.output.count("given back") == 2


def test_a_parent_passes_the_signal_on_and_ends_with_its_children(both: BothTenants, start: Start, go: Path) -> None:
    running = both.enqueue("test.sleep", {"until": str(go)})
    parent = start("--processes", "2", "--concurrency", "1")
    both.have_started(running)

    parent.signal(signal.SIGTERM)
    parent.has_said("stopping: 1 jobs still run")
    go.touch()

    assert parent.status() == 0
    assert running.are(status="succeeded", attempts=1)
