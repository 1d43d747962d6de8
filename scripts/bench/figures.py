"""The harness's arithmetic: pure functions."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scripts.bench.marks import Mark


@dataclass(frozen=True)
class Spread:
    """What repeats of one figure say: their median, and the lowest and highest of them."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Raises ValueError for no values."""
        if not values:
            raise ValueError("no values")
        return cls(statistics.median(values), min(values), max(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the percentile, interpolated between the two nearest values. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def last_to_begin(marks: Sequence[Mark], workers: int) -> int | None:
    """Return when the last of so many workers started its first job (ns), or None if not all of them did."""
    first: dict[int, int] = {}
    for mark in marks:
        first[mark.worker] = min(mark.at_ns, first.get(mark.worker, mark.at_ns))
    return max(first.values()) if len(first) >= workers else None


def per_second(count: int, elapsed_ns: int) -> float:
    """Return a rate. Raises ValueError if no time has passed."""
    if elapsed_ns <= 0:
        raise ValueError("no time has passed")
    return count * 1e9 / elapsed_ns


def started_per_second(marks: Sequence[Mark]) -> float:
    """Return the rate of a stretch of starts, in order. Raises ValueError for fewer than two, or no time between."""
    if len(marks) < 2:
        raise ValueError("no stretch has fewer than two starts")
    return per_second(len(marks) - 1, marks[-1].at_ns - marks[0].at_ns)


def paired_ratios(numerators: dict[int, float], denominators: dict[int, float]) -> list[float]:
    """Divide round by round, where a round has both: what slows the machine down for a while slows both."""
    return [value / denominators[key] for key, value in numerators.items() if denominators.get(key)]
