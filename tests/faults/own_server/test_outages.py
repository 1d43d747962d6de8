"""O01: the database is away for long, or was never there; a worker waits without pestering it, and can be stopped."""

import signal
import time

import pytest

from tests.faults.own_server.server import OwnServer
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants

pytestmark = pytest.mark.long


def test_a_worker_tries_again_about_once_a_second_and_is_back_within_seconds(
    both: BothTenants, start: Start, server: OwnServer
) -> None:
    proxy = server.behind_a_proxy()
    worker = start(variables={"DATABASE_URL": server.url_by(proxy)}, sign_of_life_grace=3)
    both.a_canary_passes()
    server.stop(signal.SIGQUIT)
    worker.has_said("the database fails")
    tried, since = proxy.connected, time.monotonic()
    time.sleep(20)
    tries = (proxy.connected - tried) / (time.monotonic() - since)
    lines = worker.output.count("\n")
    server.start()

    began = time.monotonic()
    both.a_canary_passes(within=15)
    print(f"{tries:.1f} tries a second; back within {time.monotonic() - began:.1f} s; {lines} lines")
    assert tries < 2  # the keeper's, which must be back within the grace time, and the dispatcher's
    assert lines < 25
    assert worker.terminate() == 0
    proxy.close()


def test_a_worker_whose_database_can_not_be_found_waits_and_can_be_stopped(start: Start) -> None:
    worker = start(variables={"DATABASE_URL": "postgresql://postgres@no-such-host.invalid/dms"})
    worker.has_said("the database fails")
    time.sleep(1)
    assert worker.alive

    worker.signal(signal.SIGTERM)

    assert worker.status(within=15) == 0
    assert "Traceback" not in worker.output


def test_a_worker_that_starts_while_the_server_recovers_waits_for_it(
    both: BothTenants, start: Start, server: OwnServer
) -> None:
    server.crash(slowly=True)  # it has ended its sessions and recovers
    worker = start(sign_of_life_grace=3)
    server.wait_ready()
    both.a_canary_passes()
    eventually(lambda: worker.alive)
    assert worker.terminate() == 0
