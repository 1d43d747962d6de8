"""From marks and repeats to figures."""

import pytest

from scripts.bench.figures import (
    Spread,
    last_to_begin,
    paired_ratios,
    per_second,
    percentile,
    started_per_second,
)
from scripts.bench.marks import Mark

SECOND = 1_000_000_000


def marks(*starts: tuple[float, int]) -> list[Mark]:
    """One mark for each (second, worker)."""
    return [Mark(int(at * SECOND), number, worker) for number, (at, worker) in enumerate(starts)]


def test_a_spread_is_the_median_between_the_lowest_and_the_highest() -> None:
    assert Spread.of([3.0, 1.0, 10.0]) == Spread(3.0, 1.0, 10.0)


@pytest.mark.parametrize(("percent", "expected"), [(0, 1.0), (50, 2.5), (99, 3.97), (100, 4.0)])
def test_a_percentile_lies_between_the_two_nearest_values(percent: float, expected: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == pytest.approx(expected)


@pytest.mark.parametrize("percent", [0, 50, 99])
def test_every_percentile_of_one_value_is_that_value(percent: float) -> None:
    assert percentile([7.0], percent) == 7.0


def test_no_values_have_no_figure() -> None:
    for figure in (
        lambda: Spread.of([]),
        lambda: percentile([], 50),
        lambda: per_second(3, 0),
        lambda: started_per_second([]),
        lambda: started_per_second(marks((1, 7))),
    ):
        with pytest.raises(ValueError, match="no "):
            figure()


def test_a_drain_begins_when_the_last_of_the_workers_has_begun() -> None:
    assert last_to_begin(marks((1, 7), (2, 7), (4, 8), (3, 9), (5, 8)), workers=3) == 4 * SECOND


def test_a_drain_in_which_not_every_worker_took_part_has_no_beginning() -> None:
    assert last_to_begin(marks((1, 7), (2, 7)), workers=2) is None


def test_a_stretch_of_starts_has_one_interval_less_than_starts() -> None:
    assert started_per_second(marks((1, 1), (1.5, 1), (2, 1))) == 2.0


def test_ratios_are_taken_between_repeats_of_the_same_round() -> None:
    assert paired_ratios({1: 10.0, 2: 30.0, 3: 5.0}, {1: 20.0, 2: 40.0}) == [0.5, 0.75]


def test_a_round_in_which_the_other_did_nothing_has_no_ratio() -> None:
    assert paired_ratios({1: 10.0}, {1: 0.0}) == []
