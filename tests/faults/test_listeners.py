"""Q41: the connection that hears wake-ups is lost in silence; it is replaced, and polling bridges the gap."""

import time

from tests.faults.proxy import FaultyConnection
from tests.faults.sessions import KEEPERS, backends
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants

POLL = 1.0


def latency(both: BothTenants) -> float:
    """Return how long a job of each tenant takes, in seconds."""
    began = time.monotonic()
    both.a_canary_passes()
    return time.monotonic() - began


def test_a_listener_that_hears_nothing_any_more_is_replaced_and_meanwhile_the_worker_polls(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    worker = start(variables=through, poll_interval=POLL, stale_lock_after=6)
    both.a_canary_passes()
    (keeper,) = backends(KEEPERS)
    silent = proxy.link_to(keeper)
    silent.mode = "blackhole"

    # Rare polling while it believes that it hears: four times the interval, and some jitter.
    assert latency(both) < 4 * POLL * 1.2 + 2
    worker.has_said("keeper: the database works again")

    # Now it is woken, far sooner than it would look by itself.
    eventually(lambda: min(latency(both) for _ in range(3)) < POLL / 2, within=30, what="wake-ups are heard again")
    silent.mode = "refuse"
    assert worker.terminate() == 0
