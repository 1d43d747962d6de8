"""O02: connections that stay open and are silent, as after a fail-over or when a firewall forgets them."""

import signal
import time

import pytest

from dms_project.tenancy import use
from jobqueue.queue import Queue
from tests.faults.proxy import FaultyConnection
from tests.faults.sessions import LOOPS, backends
from tests.faults.test_lost_connections import CLAIM
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins
from tests.stopwatch import Stopwatch

NEVER = 600.0


def test_a_claim_that_hangs_before_its_commit_does_not_keep_the_job_from_others(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    """The server has a transaction that nobody ends, and in it the lock of the job's row."""
    first = start("--name", "first", variables=through, stale_lock_after=4)
    both.a_canary_passes()
    hanging = proxy.when(b"COMMIT", "swallow", after=CLAIM)
    with use("globex"):
        job = Twins({"globex": Queue().enqueue("test.ok", {}, max_attempts=1).pk})
    eventually(hanging.fired.is_set, what="the claim hangs")
    second = start("--name", "second", stale_lock_after=4)

    job.become("succeeded", within=20)
    first.has_said("dispatcher: the database works again")
    first.kill()
    both.a_canary_passes()
    assert second.terminate() == 0


@pytest.mark.parametrize("loop", ["dispatcher", "recorder", "keeper"])
def test_a_worker_whose_connection_is_silent_replaces_it(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str], loop: str
) -> None:
    go = both.ledger_file.with_name("go")
    running = both.enqueue("test.sleep", {"until": str(go), "offline": True})
    worker = start("--concurrency", "4", variables=through, stale_lock_after=6)
    other = start("--name", "other", "--queue", "nothing", stale_lock_after=6)
    both.have_started(running)
    other.has_said("worker other")
    both.a_canary_passes()  # the recorder connects when something has ended
    its = backends(LOOPS[loop])
    silent = [link for link in proxy.links if link.backend_pid in its]
    assert len(silent) == 1
    silent[0].mode = "blackhole"
    if loop == "recorder":  # it has to say something, too
        go.touch()

    worker.has_said(f"{loop}: the database works again", within=30)
    both.a_canary_passes()
    go.touch()
    running.become("succeeded")
    assert running.are(attempts=1)
    assert both.runs(running) == [1, 1]
    assert worker.terminate() == other.terminate() == 0


def test_a_worker_whose_every_connection_is_silent_can_be_stopped(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    worker = start(variables=through, shutdown_grace=1)
    both.a_canary_passes()
    proxy.mode = "blackhole"
    time.sleep(0.5)  # long enough for each loop to ask something
    with Stopwatch() as watch:
        worker.signal(signal.SIGTERM)
        assert worker.status() in (0, 1)
        assert watch.seconds < 12
