"""What the keeper does beside keeping."""

import threading
import time
from collections.abc import Iterator

import pytest

from dms_project.tenancy import use
from jobqueue.queue import Queue
from jobqueue.tenant_source import tenant_source
from jobqueue.worker import keeper as module
from jobqueue.worker.keeper import Keeper
from tests.jobqueue.waiting import eventually


@pytest.fixture
def keeper(committed_db: None) -> Keeper:
    return Keeper(Queue(), tenant_source(), wake=lambda tenant: None)


@pytest.fixture
def running(keeper: Keeper) -> Iterator[Keeper]:
    keeper.served = ["acme", "globex"]
    thread = threading.Thread(target=keeper.run)
    thread.start()
    yield keeper
    keeper.stop()
    thread.join(10)


def test_jobs_that_this_program_can_not_run_are_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    """Q34: what an older or newer program enqueued waits, and somebody says so."""
    monkeypatch.setattr(module, "_FORGOTTEN_SECONDS", 0.0)
    monkeypatch.setattr(module, "_SUSPICIOUS_TICK", 0.05)
    request.getfixturevalue("committed_db")
    with use("globex"):
        for _ in range(3):
            Queue().enqueue("test.from_the_future", {})
        Queue().enqueue("test.ok", {})
    keeper: Keeper = request.getfixturevalue("running")

    eventually(lambda: keeper.ready.is_set() and "from_the_future" in caplog.text, what="it is said")
    with use("acme"):
        Queue().enqueue("test.from_the_past", {})
    eventually(lambda: "from_the_past" in caplog.text, what="the next one is said, too")

    (line,) = [record for record in caplog.records if "from_the_future" in record.getMessage()]
    assert line.getMessage() == (
        "3 jobs of type test.from_the_future wait in tenant globex; "
        "this program has no handler for it: is an app missing, or older code running?"
    )
    assert "test.ok" not in caplog.text


def test_a_look_for_dead_workers_that_takes_long_is_not_repeated_at_once(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old snapshot keeps the dead entries of the index that is read."""
    looks = []

    def look(queue: Queue) -> bool:
        looks.append(time.monotonic())
        time.sleep(0.1)
        return False

    monkeypatch.setattr(Queue, "suspects_workers", look)
    keeper.served = ["acme"]

    keeper._look_for_the_dead()
    keeper._look_for_the_dead()
    assert len(looks) == 1
    eventually(lambda: (keeper._look_for_the_dead(), len(looks) == 2)[1], what="a second look")
    assert looks[1] - looks[0] >= 0.9
