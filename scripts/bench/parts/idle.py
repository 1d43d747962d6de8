"""What a worker costs that has nothing to do."""

from __future__ import annotations

import time
from functools import partial

from scripts.bench import machine
from scripts.bench.bench import Bench
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.statements import asked, count_in
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "idle"
_SETTING = "1 process"
_SETTLE_SECONDS = 3


def trials(bench: Bench) -> list[Trial]:
    return [Trial(Key(PART, bench.ours.name, _SETTING), partial(_idle, bench), most_rounds=1)]


def rows(bench: Bench, results: Results) -> list[Row]:
    key = Key(PART, bench.ours.name, _SETTING)
    return [
        figure_row(results, "idle worker: statements per second", key, "statements_per_second", Goal("<=", 2)),
        figure_row(results, "idle worker: CPU", key, "cpu_percent", Goal("<", 1), "% of a core"),
    ]


def _idle(bench: Bench) -> Figures:
    with bench.stage(bench.ours, bench.empty(bench.ours)) as stage:
        count_in(stage.database)
        worker = stage.start_worker({})
        stage.prove_ready()
        time.sleep(_SETTLE_SECONDS)
        started, asked_before, cpu_before = time.monotonic(), asked(stage.database), machine.cpu_seconds(worker.pid)
        time.sleep(bench.sizes.idle_seconds)
        seconds = time.monotonic() - started
        meanwhile, cpu = asked(stage.database) - asked_before, machine.cpu_seconds(worker.pid) - cpu_before
    return {
        "statements_per_second": meanwhile.statements / seconds,
        "begin_and_commit_per_second": meanwhile.transaction_control / seconds,
        "buffers_per_second": meanwhile.buffers / seconds,
        "cpu_percent": 100 * cpu / seconds,
    }
