"""Working off jobs that wait, and how fast that went."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scripts.bench.contender import Setting
from scripts.bench.errors import NotMeasured
from scripts.bench.figures import last_to_begin, per_second
from scripts.bench.marks import Mark
from scripts.bench.stage import READY_SECONDS, Stage

_RECORDED_SECONDS = 10
_LOOK_SECONDS = 0.05


@dataclass(frozen=True)
class Drained:
    """How a drain went."""

    per_second: float  # jobs finished, while all workers worked
    finished: int
    marks: Sequence[Mark]

    @property
    def figures(self) -> dict[str, float]:
        twice = len(self.marks) - len({mark.number for mark in self.marks})
        return {"per_second": self.per_second, "finished": self.finished, "started_twice": twice}


def drain(stage: Stage, jobs: int, settings: Sequence[Setting], *, cap_seconds: float, workers: int = 1) -> Drained:
    """Start workers on the waiting jobs and measure until all are on record as finished, or time is up.

    A job counts when its end is on record, not when its handler ran: what a contender starts and doesn't record in
    time is no work done.

    Args:
        stage: Where the jobs wait.
        jobs: How many.
        settings: One worker is started with each.
        cap_seconds: From the moment when all workers work.
        workers: How many are expected to take part.

    Raises:
        NotMeasured: No worker started a job, or not all of them before the jobs were done.
    """
    for setting in settings:
        stage.start_worker(setting, processes_are_workers=workers > len(settings))
    begun = _wait_until_all_work(stage, jobs, workers)
    if stage.wait_for_marks(jobs, cap_seconds):
        _wait_until_recorded(stage)
        ended = _Record(time.monotonic_ns(), jobs)
    else:
        ended = _on_record(stage, jobs)
    rate = per_second(ended.finished - begun.finished, ended.at_ns - begun.at_ns)
    return Drained(rate, ended.finished, [mark for mark in stage.marks() if mark.at_ns <= ended.at_ns])


@dataclass(frozen=True)
class _Record:
    """How many jobs were on record as finished at a moment."""

    at_ns: int
    finished: int


def _on_record(stage: Stage, jobs: int) -> _Record:
    """Count. However long that takes: it counts what was on record when it began."""
    with stage.database.connect() as connection:
        at_ns = time.monotonic_ns()
        row: Any = connection.execute(stage.entrant.contender.unfinished.encode()).fetchone()
    return _Record(at_ns, jobs - row[0])


def _wait_until_all_work(stage: Stage, jobs: int, workers: int) -> _Record:
    give_up_at = time.monotonic() + READY_SECONDS
    all_started = False
    while (last_began_ns := last_to_begin(stage.marks(), workers)) is None:
        if all_started:
            raise NotMeasured(f"the jobs were done before all {workers} workers had begun")
        if time.monotonic() > give_up_at:
            raise NotMeasured(f"not all {workers} workers had begun after {READY_SECONDS} s")
        all_started = stage.wait_for_marks(jobs, _LOOK_SECONDS)
    if workers == 1:
        return _Record(last_began_ns, 0)
    # Asked, and not told from the marks: some contenders start many jobs long before they finish them.
    return _on_record(stage, jobs)


def _wait_until_recorded(stage: Stage) -> None:
    busy = stage.entrant.contender.busy
    with stage.database.connect() as connection:

        def recorded() -> bool:
            if busy is None:
                return stage.unfinished() == 0
            row: Any = connection.execute(busy.encode()).fetchone()
            return not row[0]

        if not stage.wait_until(recorded, _RECORDED_SECONDS):
            raise NotMeasured(f"{stage.unfinished()} jobs were started and not on record {_RECORDED_SECONDS} s later")
