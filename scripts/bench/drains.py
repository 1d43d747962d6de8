"""Working off jobs that wait, and how fast that went."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scripts.bench.contender import Setting
from scripts.bench.errors import NotMeasured
from scripts.bench.figures import finished_per_second, last_to_begin
from scripts.bench.marks import Mark
from scripts.bench.stage import READY_SECONDS, Stage

_RECORDED_SECONDS = 10


@dataclass(frozen=True)
class Drained:
    """How a drain went."""

    per_second: float  # jobs finished, while all workers worked
    finished: int
    marks: Sequence[Mark]
    seconds: float

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
        cap_seconds: Measured from the first start.
        workers: How many are expected to take part.

    Raises:
        NotMeasured: No worker started a job, or not all of them before the jobs were done.
    """
    for setting in settings:
        stage.start_worker(setting, processes_are_workers=workers > len(settings))
    if not stage.wait_for_marks(1, READY_SECONDS):
        raise NotMeasured(f"no job was started within {READY_SECONDS} s")
    finished = jobs
    if stage.wait_for_marks(jobs, cap_seconds):
        _wait_until_recorded(stage)
        ended_ns = time.monotonic_ns()
    else:
        ended_ns = time.monotonic_ns()
        finished = jobs - stage.unfinished()
    marks = [mark for mark in stage.marks() if mark.at_ns <= ended_ns]
    begun_ns = last_to_begin(marks, workers)
    if begun_ns is None:
        raise NotMeasured("the jobs were done before every worker had begun")
    rate = finished_per_second(marks, begun_ns, finished, ended_ns)
    return Drained(rate, finished, marks, (ended_ns - marks[0].at_ns) / 1e9)


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
