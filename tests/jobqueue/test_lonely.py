"""Room for a job that must run alone: asked for where the worker is busy, made for a while, in that tenant only."""

import pytest

from jobqueue.models import ProcessingJob
from jobqueue.worker import lonely
from jobqueue.worker.executor import Claim
from jobqueue.worker.holdings import Holdings
from jobqueue.worker.lonely import Lonely


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lonely, "time", clock)
    return clock


def holding(deaths: int = 0, count: int = 1) -> Holdings:
    holdings = Holdings()
    holdings.take(Claim("acme", ProcessingJob(worker_deaths=deaths)) for _ in range(count))
    return holdings


def test_each_tenant_is_asked_once_the_worker_has_been_busy_for_a_while(clock: Clock) -> None:
    room = Lonely()
    assert not room.asks("acme")
    clock.now += 6
    assert room.asks("acme")
    assert not room.asks("acme")
    assert room.asks("globex")
    clock.now += 6
    assert room.asks("acme")

    assert not room.leaves_no_room(Holdings())  # idle for a moment: nothing had to wait
    assert not room.asks("acme")


def test_room_is_made_for_one_that_waits_and_then_it_is_claimed_before_others(clock: Clock) -> None:
    room, busy = Lonely(), holding(count=2)
    assert not room.leaves_no_room(busy)
    assert room.choice(busy) is False
    assert room.choice(Holdings()) is None

    room.waits("globex")
    assert room.waits_in == "globex"
    assert room.leaves_no_room(busy)
    assert not room.leaves_no_room(Holdings())
    assert room.choice(Holdings()) is True

    room.needs_no_room()
    assert not room.leaves_no_room(busy)
    assert room.waits_in is None


def test_room_that_helps_nobody_is_taken_again_for_a_while(clock: Clock) -> None:
    room, busy = Lonely(), holding()
    room.waits("globex")
    clock.now += 10
    assert room.waits_in is None
    assert not room.leaves_no_room(busy)
    clock.now += 4
    assert not room.asks("globex")
    clock.now += 2
    assert room.asks("globex")


def test_nothing_is_claimed_beside_one_that_runs(clock: Clock) -> None:
    room = Lonely()
    assert room.leaves_no_room(holding(deaths=2))
    assert not room.leaves_no_room(holding(deaths=1))
