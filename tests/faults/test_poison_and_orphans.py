"""Q11, Q14: a job that kills whoever runs it, and jobs whose worker is gone while everybody else is busy."""

import signal
import time
from pathlib import Path

import psycopg
import pytest

from dms_project.tenancy import use
from jobqueue.queue import Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins


@pytest.fixture
def go(both: BothTenants) -> Path:
    """The file that running ``test.sleep`` jobs wait for."""
    return both.ledger_file.with_name("go")


@pytest.mark.long
def test_a_poisonous_job_costs_one_worker_an_attempt_and_healthy_jobs_flow_on(both: BothTenants, start: Start) -> None:
    """Q11: three workers, three attempts, three deaths; somebody can end it at any moment."""
    with use("acme"):
        poison = Twins({"acme": Queue().enqueue("test.exit", {"kind": "sigkill"}, max_attempts=3).pk})
    parent = start("--processes", "3", "--concurrency", "2")

    slowest = 0.0
    while not poison.are(status="dead_letter"):
        began = time.monotonic()
        both.a_canary_passes(within=60)
        slowest = max(slowest, time.monotonic() - began)
    (dead,) = poison.rows()

    assert (dead.attempts, [entry["outcome"] for entry in dead.history]) == (3, ["worker_died"] * 3)
    assert dead.last_error.startswith("worker died")
    assert both.runs(poison) == [3]
    assert parent.output.count("ended with status -9") == 3
    print(f"slowest canary: {slowest:.1f} s")
    both.a_canary_passes(within=60)
    assert parent.output.count("ended with status -9") == 3


def test_orphans_are_taken_back_while_every_thread_is_busy_and_nobody_is_restarted(
    both: BothTenants, start: Start, database_url: str, go: Path
) -> None:
    """Q14: looking for them is no job; it needs no free thread, and no leader that could be gone itself."""
    busy = both.enqueue("test.sleep", {"until": str(go)}, queue_name="first")
    start("--name", "first", "--queue", "first", "--concurrency", "2", stale_lock_after=600)
    both.have_started(busy)
    orphans = both.enqueue("test.sleep", {"until": str(go)}, queue_name="second")
    second = start("--name", "second", "--queue", "second", "--concurrency", "2", stale_lock_after=600)
    both.have_started(orphans)

    # Somebody who was just taking one back is killed, too: what it had locked is free with its session.
    with psycopg.connect(database_url) as sweeper:
        sweeper.execute("SELECT id FROM acme.processing_jobs WHERE locked_by = 'second' FOR UPDATE")
        assert second.kill() == -signal.SIGKILL
        globex = Twins({"globex": orphans.ids["globex"]})
        eventually(lambda: globex.are(status="pending", attempts=1), within=15, what="one is taken back")
    eventually(lambda: orphans.are(status="pending", attempts=1), within=15, what="both are taken back")
    assert both.runs(busy) == [1, 1]


def test_a_claimed_job_whose_owner_is_dead_can_be_cancelled(both: BothTenants, start: Start, go: Path) -> None:
    """Q11: by people, before anybody has noticed the death."""
    job = both.enqueue("test.sleep", {"until": str(go)})
    worker = start(stale_lock_after=600)
    both.have_started(job)
    worker.kill()

    for tenant, pk in job.ids.items():
        with use(tenant):
            assert Queue().cancel(pk)

    assert job.are(status="failed", attempts=1, last_error="cancelled")
