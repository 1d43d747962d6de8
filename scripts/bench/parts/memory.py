"""Whether a worker grows with the jobs that it has done."""

from __future__ import annotations

from functools import partial

from scripts.bench import machine
from scripts.bench.bench import Bench
from scripts.bench.errors import NotMeasured
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "memory"
_SETTING = "1 process"


def trials(bench: Bench) -> list[Trial]:
    return [Trial(Key(PART, bench.ours.name, _SETTING), partial(_memory, bench), most_rounds=1)]


def rows(bench: Bench, results: Results) -> list[Row]:
    title = f"memory of a worker after {bench.sizes.memory:,} jobs: of that after {bench.sizes.memory_early:,}"
    return [figure_row(results, title, Key(PART, bench.ours.name, _SETTING), "late_of_early", Goal("<=", 1.1), "x")]


def _memory(bench: Bench) -> Figures:
    sizes = bench.sizes
    with bench.stage(bench.ours, bench.filled(bench.ours, sizes.memory)) as stage:
        worker = stage.start_worker({})
        resident = []
        for jobs in (sizes.memory_early, sizes.memory):
            if not stage.wait_for_marks(jobs, sizes.memory_cap):
                raise NotMeasured(f"{jobs:,} jobs took more than {sizes.memory_cap:g} s")
            resident.append(machine.resident_bytes(worker.pid) / 2**20)
    early, late = resident
    return {"early_mib": early, "late_mib": late, "late_of_early": late / early}
