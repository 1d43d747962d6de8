"""A worker is killed in the middle of a job: how long until another one, which waits, starts it again."""

from __future__ import annotations

import time
from functools import partial

from scripts.bench.bench import Bench
from scripts.bench.errors import NotMeasured
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.ours import NAP
from scripts.bench.stage import READY_SECONDS
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "death"
_KILLED = "kill -9 in mid job"
_LONGEST_SECONDS = 90  # past the age at which any lock is stale
_NUMBER = 7


def trials(bench: Bench) -> list[Trial]:
    return [Trial(Key(PART, bench.ours.name, _KILLED), partial(_death, bench))]


def rows(bench: Bench, results: Results) -> list[Row]:
    key = Key(PART, bench.ours.name, _KILLED)
    return [figure_row(results, "kill -9 to the start by another worker", key, "seconds", Goal("<=", 5), "s")]


def _death(bench: Bench) -> Figures:
    with bench.stage(bench.ours, bench.empty(bench.ours)) as stage:
        victim = stage.start_worker({"type": NAP})
        stage.call("enqueue", jobs=[{"job_type": NAP, "payload": {"number": _NUMBER, "seconds": _LONGEST_SECONDS}}])
        if not stage.wait_for_marks(1, READY_SECONDS):
            raise NotMeasured(f"the job was not started within {READY_SECONDS} s")
        stage.start_worker({})
        stage.prove_ready()
        killed_ns = time.monotonic_ns()
        stage.kill(victim)
        if not stage.wait_for_marks(3, _LONGEST_SECONDS):
            raise NotMeasured(f"the job was not started again within {_LONGEST_SECONDS} s")
        again = stage.marks()[-1]
    return {"seconds": (again.at_ns - killed_ns) / 1e9}
