"""Goals, and rows that hold a figure against one."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scripts.bench.figures import Spread, paired_ratios
from scripts.bench.trials import Key, Results

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Goal:
    """A bound for a figure."""

    sign: str
    bound: float

    def met_by(self, value: float) -> bool:
        return _COMPARE[self.sign](value, self.bound)


@dataclass(frozen=True)
class Row:
    """A figure beside its goal."""

    title: str
    goal: Goal
    spread: Spread | None
    unit: str = ""
    note: str = ""
    disturbed: int = 0  # repeats
    #: Whether a missing figure means that the run failed, and not only that nobody was there to compare with.
    owed: bool = True

    @property
    def verdict(self) -> str:
        if self.spread is None:
            return "not measured"
        return "ok" if self.goal.met_by(self.spread.median) else "missed"

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict}


def figure_row(results: Results, title: str, key: Key, figure: str, goal: Goal, unit: str = "") -> Row:
    """Hold a figure against its goal."""
    spread = results.spread(key, figure)
    note = "" if spread else results.reason(key)
    return Row(title, goal, spread, unit, note, _disturbed(results, [key]))


def ratio_row(results: Results, title: str, figure: str, ours: Key, other: Key, goal: Goal, unit: str = "x") -> Row:
    """Hold the ratio of two contenders' figure against its goal; ratios are taken round by round."""
    ratios = paired_ratios(results.by_round(ours, figure), results.by_round(other, figure))
    spread = Spread.of(ratios) if ratios else None
    note = "" if spread else results.reason(ours if not results.spread(ours, figure) else other)
    return Row(title, goal, spread, unit, note, _disturbed(results, [ours, other]))


def worst_row(results: Results, title: str, keys: Sequence[Key], figure: str, goal: Goal, unit: str = "x") -> Row:
    """Hold the highest of several figures against a goal that bounds them all; one that is missing is the worst."""
    rows = [figure_row(results, title, key, figure, goal, unit) for key in keys]
    return max(rows, key=lambda row: row.spread.median if row.spread else float("inf"))


def ahead_row(results: Results, title: str, figure: str, ours: Key, peers: Sequence[Key]) -> Row:
    """Be ahead of the fastest of the peers."""
    goal = Goal(">", 1)
    fastest = results.fastest(peers, figure)
    if fastest is None:
        return Row(title, goal, None, "x", "no peer was measured; `make bench-peers` installs them", owed=False)
    return ratio_row(results, f"{title} ({fastest.contender})", figure, ours, fastest, goal)


def _disturbed(results: Results, keys: Sequence[Key]) -> int:
    return sum(sample.disturbed for key in keys for sample in results.of(key))
