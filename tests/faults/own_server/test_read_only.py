"""O03: the server takes no writes any more, as in a fail-over: for a while, or because another has taken its place."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.own_server.server import OwnServer, Standby
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants


def test_a_worker_waits_while_the_server_is_read_only_and_says_so_now_and_then(
    both: BothTenants, start: Start, server: OwnServer, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    worker = start("--concurrency", "3")
    running = both.enqueue("test.sleep", {"until": str(go), "offline": True})
    both.have_started(running)

    server.set("default_transaction_read_only", "on")
    go.touch()
    worker.has_said("(failure 8)")
    lines = worker.output.count("\n")
    time.sleep(3)
    assert worker.output.count("\n") - lines <= 3
    assert "works again" not in worker.output
    assert running.are(status="processing", attempts=1)

    server.set("default_transaction_read_only", "off")
    running.become("succeeded", within=20)
    assert running.are(attempts=1)
    assert both.runs(running) == [1, 1]
    both.a_canary_passes(within=15)
    assert "Traceback" not in worker.output
    assert worker.terminate() == 0


@pytest.fixture
def standby(server: OwnServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standby]:
    standby = Standby(server, tmp_path_factory.mktemp("standby"))
    yield standby
    standby.remove()


@pytest.mark.long
def test_workers_follow_to_the_server_that_takes_over(
    both: BothTenants, start: Start, server: OwnServer, standby: Standby, tmp_path: Path
) -> None:
    """The former one goes on answering, but takes no writes; connections that are open still lead to it."""
    proxy = server.behind_a_proxy()
    through = {"DATABASE_URL": server.url_by(proxy)}
    go = tmp_path / "go"
    try:
        busy = start("--name", "busy", "--concurrency", "4", variables=through, sign_of_life_grace=2)
        running = both.enqueue("test.sleep", {"until": str(go), "offline": True})
        both.have_started(running)
        idle = start("--name", "idle", "--queue", "another", variables=through, sign_of_life_grace=2)
        idle.has_said("worker idle")
        eventually(lambda: len(proxy.links) >= 4, what="both have their connections")

        server.set("default_transaction_read_only", "on")
        standby.promote()
        proxy.target = standby.target
        standby.is_what_the_test_uses()

        both.a_canary_passes(within=30)
        both.a_canary_passes(within=30, queue_name="another")
        go.touch()
        running.become("succeeded", within=20)
        assert running.are(attempts=1)
        assert both.runs(running) == [1, 1]
        assert busy.terminate() == idle.terminate() == 0
    finally:
        proxy.close()
