"""The scheduler's promises, in a simulation that needs neither database nor clock."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobqueue.tenants.scheduler import QUANTUM_SECONDS, Candidate, FairShares, share_out
from tests.jobqueue.tenants.simulation import simulate

lengths = st.floats(0.01, 2.0)


def jain(values: Sequence[float]) -> float:
    """Return Jain's index: 1 if all are equal, 1/n if one has everything."""
    return sum(values) ** 2 / (len(values) * sum(value**2 for value in values))


def test_each_of_99_small_tenants_is_done_before_2_percent_of_the_big_one() -> None:
    jobs = {"big": [0.01] * 100_000} | {f"small{number}": [0.01] * 10 for number in range(99)}
    seen = simulate(jobs, threads=8, prefetch=32, until=30.0)

    last = max(seen.finished_at[name] for name in jobs if name != "big")
    assert seen.had("big", last) < 0.02 * 100_000 * 0.01


def test_worker_time_is_shared_equally_by_tenants_with_short_and_with_long_jobs() -> None:
    jobs = {"short": [0.01] * 9_000, "middling": [0.1] * 900, "long": [1.0] * 90}
    seen = simulate(jobs, threads=4, until=60.0)

    assert jain([seen.had(name, 50.0) for name in jobs]) >= 0.95


@given(
    averages=st.lists(st.floats(0.05, 1.0), min_size=2, max_size=6),
    threads=st.integers(1, 4),
    prefetch=st.integers(0, 20),
)
@settings(max_examples=15, deadline=None)
def test_jains_index_is_high_while_all_have_work(averages: list[float], threads: int, prefetch: int) -> None:
    horizon = 30.0 * len(averages)
    jobs = {f"t{number}": [average] * int(horizon * threads / average) for number, average in enumerate(averages)}
    seen = simulate(jobs, threads, prefetch=prefetch, until=horizon)

    assert jain([seen.had(name, horizon * 0.95) for name in jobs]) >= 0.95


@given(weights=st.lists(st.sampled_from([0.5, 1.0, 2.0, 4.0]), min_size=2, max_size=5))
@settings(max_examples=10, deadline=None)
def test_whoever_has_twice_the_weight_gets_twice_the_time(weights: list[float]) -> None:
    names = {f"t{number}": weight for number, weight in enumerate(weights)}
    seen = simulate({name: [0.1] * 4_000 for name in names}, threads=4, weights=names, until=50.0)

    assert jain([seen.had(name, 50.0) / weight for name, weight in names.items()]) >= 0.99


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(lengths, min_size=1, max_size=30), min_size=1),
    st.integers(1, 6),
    st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_no_thread_idles_while_somebody_has_work(jobs: dict[str, list[float]], threads: int, prefetch: int) -> None:
    seen = simulate(jobs, threads, prefetch=prefetch)

    assert seen.idle_thread_seconds == 0
    assert seen.begun == {name: len(each) for name, each in jobs.items()}


@given(st.lists(st.tuples(lengths, st.sampled_from([0.5, 1.0, 3.0])), min_size=2, max_size=8), st.integers(1, 200))
@settings(max_examples=100, deadline=None)
def test_two_who_have_work_never_differ_by_more_than_a_job_of_each(kinds: list[tuple[float, float]], room: int) -> None:
    """The bound against starvation: whoever waits gets its next job before anybody gets two that it had not owed."""
    candidates = [Candidate(str(n), 0.0, seconds, weight) for n, (seconds, weight) in enumerate(kinds)]
    shares = share_out(room, candidates)

    had = [shares.get(each.name, 0) * each.job_seconds / each.weight for each in candidates]
    one = [max(each.job_seconds, QUANTUM_SECONDS) / each.weight for each in candidates]
    for mine, my_job in zip(had, one, strict=True):
        for other, its_job in zip(had, one, strict=True):
            assert mine - other <= my_job + its_job + 1e-9
    assert sum(shares.values()) == room


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5)), st.integers(0, 40))
@settings(max_examples=60, deadline=None)
def test_nobody_gets_more_than_its_cap(caps: dict[str, int], room: int) -> None:
    shares = FairShares(caps=caps).share_out(room, list("abcd"))

    assert all(shares.get(name, 0) <= cap for name, cap in caps.items())
    most = float("inf") if set(caps) != set("abcd") else sum(caps.values())
    assert sum(shares.values()) == min(room, most)


def test_whoever_idled_has_saved_nothing_up_and_is_served_next() -> None:
    shares = FairShares()
    for _ in range(100):
        (name,) = shares.share_out(1, ["busy"])
        shares.claimed(name, 1)
        shares.ended(name, 1.0)

    assert shares.share_out(1, ["busy", "back"]) == {"back": 1}
    shares.claimed("back", 1)
    shares.ended("back", 1.0)
    turns = []
    for _ in range(10):
        (name,) = shares.share_out(1, ["busy", "back"])
        shares.claimed(name, 1)
        shares.ended(name, 1.0)
        turns.append(name)
    assert turns.count("back") == pytest.approx(5, abs=1)


def test_what_is_given_back_is_not_charged() -> None:
    shares = FairShares()
    shares.claimed("a", 10)
    shares.returned("a", 10)
    assert shares.share_out(2, ["a", "b"]) == {"a": 1, "b": 1}
