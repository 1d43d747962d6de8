"""O02: connections that stay open and say nothing any more, as after a fail-over behind a proxy."""

import signal
import time
from pathlib import Path

from tests.faults.proxy import FaultyConnection
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import BothTenants

GRACE, STALE_AFTER = 0.5, 2.0
#: How long a stopping worker tries to give its jobs back, once it has waited for them.
GIVING_BACK = 5.0


def test_a_worker_that_hears_nothing_any_more_is_replaced_by_others_and_can_be_stopped(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str], tmp_path: Path
) -> None:
    until = {"until": str(tmp_path / "go")}
    held = both.enqueue("test.sleep", until)
    cut_off = start("--name", "cut off", variables=through, shutdown_grace=GRACE, stale_lock_after=STALE_AFTER)
    both.have_started(held)

    proxy.mode = "blackhole"
    other = start("--name", "other", "--concurrency", "4", stale_lock_after=STALE_AFTER)
    both.have_started(held, times=2, within=20)
    both.a_canary_passes()

    began = time.monotonic()
    cut_off.signal(signal.SIGTERM)
    assert cut_off.status(within=GRACE + GIVING_BACK + 5) == 1  # it knows that its jobs' locks are left to go stale
    assert time.monotonic() - began < GRACE + GIVING_BACK + 3
    assert "could not give 2 jobs back" in cut_off.output
    assert cut_off.output.count("\n") < 20

    (tmp_path / "go").touch()
    assert {job.history[-1]["worker"] for job in held.become("succeeded")} == {"other"}
    assert held.are(attempts=2)
    assert other.terminate() == 0


def test_an_idle_worker_that_hears_nothing_any_more_is_stopped_within_its_grace(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    worker = start(variables=through, shutdown_grace=GRACE)
    both.a_canary_passes()

    proxy.mode = "blackhole"
    began = time.monotonic()
    worker.signal(signal.SIGTERM)

    worker.status(within=GRACE + GIVING_BACK + 5)
    assert time.monotonic() - began < GRACE + GIVING_BACK + 3
