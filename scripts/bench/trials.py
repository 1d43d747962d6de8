"""Trials and what they gave, round by round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from scripts.bench.figures import Spread
from scripts.bench.machine import DISTURBED_CORES

Figures = dict[str, float]


@dataclass(frozen=True)
class Key:
    """What is measured: who, in which setting."""

    part: str
    contender: str
    setting: str

    def __str__(self) -> str:
        return f"{self.part}: {self.contender}, {self.setting}"


@dataclass(frozen=True)
class Trial:
    """One thing to be measured in each round, or in the first ones only."""

    key: Key
    measure: Callable[[], Figures]
    most_rounds: int = 1_000


@dataclass(frozen=True)
class Sample:
    """What one round gave."""

    key: Key
    round: int
    seconds: float
    other_cores: float
    figures: Figures = field(default_factory=dict)
    reason: str = ""  # why there are no figures

    @property
    def disturbed(self) -> bool:
        return self.other_cores > DISTURBED_CORES

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self.key), **asdict(self), "disturbed": self.disturbed} | {"key": str(self.key)}


class Results:
    """All samples of a run, and the questions that the goals ask."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)

    def of(self, key: Key) -> list[Sample]:
        return [sample for sample in self.samples if sample.key == key]

    def by_round(self, key: Key, figure: str) -> dict[int, float]:
        """Return the figure of each round that has it."""
        return {sample.round: sample.figures[figure] for sample in self.of(key) if figure in sample.figures}

    def spread(self, key: Key, figure: str) -> Spread | None:
        values = list(self.by_round(key, figure).values())
        return Spread.of(values) if values else None

    def reason(self, key: Key) -> str:
        """Return why a key has no figures."""
        return next((sample.reason for sample in self.of(key) if sample.reason), "nothing was measured")

    def keys(self, part: str) -> list[Key]:
        """Return what was tried in a part, in the order of the first round."""
        return list(dict.fromkeys(sample.key for sample in self.samples if sample.key.part == part))

    def fastest(self, keys: Sequence[Key], figure: str) -> Key | None:
        """Return the key with the highest median, or None if none has the figure."""
        medians = {key: statistics.median(values.values()) for key in keys if (values := self.by_round(key, figure))}
        return max(medians, key=medians.__getitem__) if medians else None
