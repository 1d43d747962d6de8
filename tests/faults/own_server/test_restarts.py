"""O01: PostgreSQL goes away and comes back; workers wait for it, finish what they had, and go on by themselves."""

import signal
import time
from pathlib import Path

import pytest

from tests.faults.own_server.server import OwnServer
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import BothTenants


def test_a_worker_outlives_restarts_of_the_database(
    both: BothTenants, start: Start, server: OwnServer, tmp_path: Path
) -> None:
    worker = start("--concurrency", "3", sign_of_life_grace=3)
    go = tmp_path / "go"
    running = both.enqueue("test.sleep", {"until": str(go), "offline": True})
    both.have_started(running)

    # While its jobs run: they end while the database is away, which is recorded when it is back.
    server.stop(signal.SIGQUIT)
    worker.has_said("the database fails")
    go.touch()
    worker.has_said("keeper: the database fails")
    server.start()
    running.become("succeeded", within=15)
    assert running.are(attempts=1)
    assert both.runs(running) == [1, 1]

    # While it is idle.
    server.stop(signal.SIGINT)
    server.start()
    both.a_canary_passes(within=15)
    assert worker.alive
    assert "Traceback" not in worker.output

    # While the database is away it can be stopped.
    server.stop(signal.SIGQUIT)
    worker.signal(signal.SIGTERM)
    assert worker.status(within=15) == 0


@pytest.mark.long
def test_running_jobs_are_not_taken_for_dead_after_a_crash_of_the_server_with_a_long_recovery(
    both: BothTenants, start: Start, server: OwnServer, tmp_path: Path
) -> None:
    """One killed backend ends all sessions without a restart to be seen; until it has recovered nobody can renew."""
    go = tmp_path / "go"
    running = both.enqueue("test.sleep", {"until": str(go), "offline": True})
    holder = start("--name", "holder", sign_of_life_grace=4, stale_lock_after=2)
    both.have_started(running)
    other = start("--name", "other", sign_of_life_grace=4, stale_lock_after=2)
    other.has_said("worker other")

    server.crash(slowly=True)
    holder.signal(signal.SIGSTOP)  # so that the other one is the first to look
    server.wait_ready()
    other.has_said("keeper: the database works again")
    time.sleep(0.5)  # it has looked
    holder.signal(signal.SIGCONT)
    holder.has_said("keeper: the database works again")
    go.touch()

    running.become("succeeded")
    assert running.are(attempts=1)
    assert both.runs(running) == [1, 1]
    assert [holder.terminate(), other.terminate()] == [0, 0]
