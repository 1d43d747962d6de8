"""From figures to the words in the table."""

import pytest

from scripts.bench import report
from scripts.bench.figures import Spread
from scripts.bench.goals import Goal, Row, ahead_row, figure_row, ratio_row
from scripts.bench.trials import Key, Results, Sample

OURS, FLOOR = Key("drain", "ours", "1 process"), Key("drain", "floor", "n = 1")
SLOW, FAST = Key("drain", "Slow", "best"), Key("drain", "Fast", "best")


def results(rates: dict[Key, list[float]], others: float = 0.0) -> Results:
    """One sample of each rate, round by round; a negative one stands for a round in which nothing was measured."""
    made = Results()
    for key, values in rates.items():
        for turn, value in enumerate(values, start=1):
            figures = {"per_second": value} if value >= 0 else {}
            made.add(Sample(key, turn, 1.0, others, figures, "" if figures else "it broke"))
    return made


@pytest.mark.parametrize(
    ("sign", "met", "missed"),
    [(">=", [5, 6], [4.99]), ("<=", [5, 4], [5.01]), (">", [5.01], [5, 4]), ("<", [4.99], [5, 6])],
)
def test_a_goal_is_met_on_the_right_side_of_its_bound(sign: str, met: list[float], missed: list[float]) -> None:
    goal = Goal(sign, 5)

    assert all(goal.met_by(value) for value in met)
    assert not any(goal.met_by(value) for value in missed)


def test_the_median_decides_and_not_the_best_repeat() -> None:
    row = figure_row(results({OURS: [1.0, 2.0, 9.0]}), "title", OURS, "per_second", Goal(">=", 5))

    assert (row.verdict, row.spread) == ("missed", Spread(2.0, 1.0, 9.0))


def test_a_ratio_is_the_median_of_the_rounds_ratios() -> None:
    measured = results({OURS: [60.0, 5.0, 70.0], FLOOR: [100.0, 10.0, 100.0]})

    row = ratio_row(measured, "title", "per_second", OURS, FLOOR, Goal(">=", 0.6))

    assert row.spread == Spread(0.6, 0.5, 0.7)
    assert row.verdict == "ok"


def test_a_round_that_failed_leaves_the_others() -> None:
    row = ratio_row(
        results({OURS: [-1, 8.0], FLOOR: [10.0, 10.0]}), "title", "per_second", OURS, FLOOR, Goal(">=", 0.6)
    )

    assert row.spread == Spread(0.8, 0.8, 0.8)


def test_what_could_not_be_measured_says_why_and_is_owed() -> None:
    row = ratio_row(results({OURS: [1.0], FLOOR: [-1]}), "title", "per_second", OURS, FLOOR, Goal(">=", 0.6))

    assert (row.verdict, row.note, row.owed) == ("not measured", "it broke", True)


def test_to_be_ahead_means_ahead_of_the_fastest_peer() -> None:
    measured = results({OURS: [50.0], SLOW: [10.0], FAST: [100.0]})

    row = ahead_row(measured, "title", "per_second", OURS, [SLOW, FAST])

    assert (row.title, row.verdict) == ("title (Fast)", "missed")


def test_without_peers_nothing_is_owed() -> None:
    row = ahead_row(results({OURS: [50.0], FAST: [-1]}), "title", "per_second", OURS, [FAST])

    assert (row.verdict, row.owed) == ("not measured", False)


def test_a_disturbed_repeat_is_marked() -> None:
    row = figure_row(results({OURS: [1.0, 2.0]}, others=0.5), "title", OURS, "per_second", Goal(">=", 1))

    assert row.disturbed == 2
    assert "* 2 disturbed" in report.goals_table([row])


def test_each_row_of_the_table_has_figure_goal_and_verdict() -> None:
    rows = [
        Row("a thing", Goal(">=", 0.8), Spread(0.91, 0.9, 0.95), "x"),
        Row("another", Goal("<=", 2048), Spread(12_345.6, 12_000, 13_000), "bytes"),
        Row("a third", Goal(">", 1), None, "x", "no peer was measured"),
    ]

    _, *lines = report.goals_table(rows).splitlines()

    assert [" ".join(line.split()) for line in lines] == [
        "a thing 0.91 x >= 0.8 ok 0.90 to 0.95",
        "another 12,346 bytes <= 2,048 missed 12,000 to 13,000",
        "a third - > 1 not measured no peer was measured",
    ]


def test_all_that_was_tried_is_listed_with_those_who_were_not_there() -> None:
    table = report.measured_table(results({OURS: [1.0, 3.0], FLOOR: [-1]}), ["drain"], missing=["Oban"])

    assert [" ".join(line.split()) for line in table.splitlines()] == [
        "what who setting figures",
        "drain ours 1 process per second 2.00 (1.00 to 3.00)",
        "drain floor n = 1 not measured: it broke",
        "Oban not installed",
    ]
