"""What a run leaves behind: everything as JSON, tables for the documentation, and a chart."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.bench import chart, report
from scripts.bench.goals import Row
from scripts.bench.parts import drain, enqueue
from scripts.bench.trials import Key, Results

_RATE = "per_second"
_CHART_NAMES = {"ours": "this queue", "floor": "floor: the least SQL"}


@dataclass(frozen=True)
class _Column:
    """Speeds that can stand below each other, though each contender has its own name for the setting."""

    title: str
    part: str
    settings: Sequence[str]

    def key(self, results: Results, contender: str) -> Key | None:
        """Return the contender's fastest setting among these."""
        keys = [key for key in results.keys(self.part) if key.contender == contender and key.setting in self.settings]
        return results.fastest(keys, _RATE)


_DRAIN = _Column("drain, 1 process", drain.PART, [drain.ONE_PROCESS, drain.BEST, *drain.FLOOR_BEST])
_BULK = _Column("enqueue, many by one call", enqueue.PART, enqueue.BULK)
_COLUMNS = (
    _Column("enqueue, a transaction each", enqueue.PART, enqueue.SINGLE),
    _BULK,
    _Column("drain, as it comes", drain.PART, [drain.ONE_PROCESS, drain.STOCK]),
    _DRAIN,
    _Column("drain, 2 processes", drain.PART, [drain.TWO_PROCESSES, drain.BEST_TWICE]),
    _Column("drain, claims of 1", drain.PART, [drain.CLAIMS_OF_ONE, drain.FLOOR_SINGLE]),
)


@dataclass(frozen=True)
class Report:
    """A finished run."""

    conditions: dict[str, str]
    options: dict[str, Any]
    results: Results
    rows: Sequence[Row]
    seconds: dict[str, float]

    def write(self, folder: Path) -> None:
        """Write ``results.json``, ``tables.md`` and ``chart.svg``."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "results.json").write_text(self._json())
        (folder / "tables.md").write_text(self._markdown())
        (folder / "chart.svg").write_text(self._chart())

    def _json(self) -> str:
        document = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "conditions": self.conditions,
            "options": self.options,
            "rows": [row.as_json() for row in self.rows],
            "samples": [sample.as_json() for sample in self.results.samples],
            "seconds": self.seconds,
        }
        return json.dumps(document, indent=1) + "\n"

    def _markdown(self) -> str:
        conditions = "\n".join(f"- {name}: {value}" for name, value in self.conditions.items())
        goals = report.markdown(
            [["goal", "figure", "wanted", "", "lowest to highest", ""], *report.goal_cells(self.rows)]
        )
        return f"{conditions}\n\n{goals}\n\nJobs per second:\n\n{report.markdown(self._speeds())}\n"

    def _speeds(self) -> list[list[str]]:
        lines = [["", *(column.title for column in _COLUMNS)]]
        for who in self._contenders():
            keys = [column.key(self.results, who) for column in _COLUMNS]
            lines.append([who, *(report.number(self._median(key)) if key else "" for key in keys)])
        return lines

    def _chart(self) -> str:
        panels = [
            chart.Panel(f"{title}, jobs per second", self._bars(column))
            for title, column in (("Worked off by one process", _DRAIN), ("Enqueued by one call", _BULK))
        ]
        return chart.svg(panels, "Bars: jobs per second of this queue, of the least SQL, and of other queues")

    def _bars(self, column: _Column) -> list[chart.Bar]:
        keys = [key for who in self._contenders() if (key := column.key(self.results, who))]
        return [self._bar(key) for key in keys]

    def _bar(self, key: Key) -> chart.Bar:
        who = key.contender
        kind = who if who in _CHART_NAMES else "peer"
        return chart.Bar(_CHART_NAMES.get(who, who), self._median(key), kind)

    def _contenders(self) -> list[str]:
        return list(dict.fromkeys(sample.key.contender for sample in self.results.samples))

    def _median(self, key: Key) -> float:
        spread = self.results.spread(key, _RATE)
        return spread.median if spread else 0.0
