"""Q51: how a worker ends when it is told to, and what becomes of the jobs that it holds."""

import os
import signal
import time
from pathlib import Path

import psutil
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


@pytest.mark.parametrize("arguments", ["--concurrency 2", "--processes 2 --concurrency 1"])
def test_a_signal_to_the_whole_process_group_is_one_signal(
    both: BothTenants, start: Start, go: Path, arguments: str
) -> None:
    """As a terminal's Ctrl-C or a process manager sends it: workers under a parent must not get it twice."""
    running = both.enqueue("test.sleep", {"until": str(go)})
    worker = start(*arguments.split())
    both.have_started(running)

    os.killpg(worker.pid, signal.SIGTERM)
    worker.has_said("stopping: ")
    go.touch()

    assert worker.status() == 0
    assert running.are(status="succeeded", attempts=1)
    assert "given back" not in worker.output


def test_programs_of_handlers_that_are_given_back_are_ended(both: BothTenants, start: Start) -> None:
    """Nobody would wait for them any more, while the next worker runs the job."""
    twins = both.enqueue("test.program", max_attempts=1)
    worker = start("--concurrency", "2", shutdown_grace=0.3)
    both.have_started(twins)
    programs = [psutil.Process(entry["program"]) for entries in both.events(twins) for entry in entries]

    assert worker.terminate() == 0

    _, alive = psutil.wait_procs(programs, timeout=20)
    for program in alive:
        program.kill()
    assert alive == []
    assert twins.are(status="pending", attempts=0)


def test_a_signal_that_comes_while_python_ends_does_not_look_like_a_death(start: Start) -> None:
    worker = start()
    worker.has_said("worker ")
    while worker.alive:
        worker.signal(signal.SIGTERM)
        time.sleep(0.001)

    assert worker.status() == 0
