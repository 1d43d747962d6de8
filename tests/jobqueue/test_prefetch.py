"""What a worker takes in advance: at most some milliseconds of work, learnt from the jobs that end."""

from hypothesis import given
from hypothesis import strategies as st

from jobqueue.worker.prefetch import HORIZON_SECONDS, MOST, Prefetch

durations = st.lists(st.floats(0, 100), min_size=1, max_size=50)


def test_nothing_is_taken_in_advance_before_a_job_has_ended() -> None:
    prefetch = Prefetch(4)
    assert prefetch.allowance() == 0
    prefetch.note([0.001])
    assert prefetch.allowance() > 0
    prefetch.forget()
    assert prefetch.allowance() == 0


def test_it_can_be_switched_off() -> None:
    prefetch = Prefetch(4, wanted=False)
    prefetch.note([0.0] * 100)
    assert prefetch.allowance() == 0


@given(st.integers(1, 64), durations)
def test_it_is_bounded_by_number_and_by_time(concurrency: int, seconds: list[float]) -> None:
    prefetch = Prefetch(concurrency)
    prefetch.note(seconds)
    allowed = prefetch.allowance()
    assert 0 <= allowed <= MOST
    assert allowed * min(seconds) <= concurrency * HORIZON_SECONDS * 1.001


@given(st.integers(1, 8))
def test_long_jobs_are_never_taken_in_advance(concurrency: int) -> None:
    prefetch = Prefetch(concurrency)
    prefetch.note([10.0])
    assert prefetch.allowance() == 0


def test_one_long_job_among_quick_ones_makes_it_careful() -> None:
    prefetch = Prefetch(2)
    prefetch.note([0.0001] * 1_000)
    assert prefetch.allowance() == MOST
    prefetch.note([10.0])
    assert prefetch.allowance() == 0
