"""Whether a busy worker sits on jobs that an idle one could run.

A worker has run many quick jobs, and may have learnt to claim many at once, when it meets slow ones. A second worker
that comes then must find them.
"""

from __future__ import annotations

from functools import partial

from scripts.bench.bench import Bench
from scripts.bench.errors import NotMeasured
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.ours import NAP, NOOP
from scripts.bench.stage import READY_SECONDS, Stage
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "hoarding"
_SETTING = "slow jobs behind quick ones"
_NAPS = 10
_FIRST_NAP = 1_000_000
_BUSY_SLOTS = 2
_CANARY = "canary"


def trials(bench: Bench) -> list[Trial]:
    return [Trial(Key(PART, bench.ours.name, _SETTING), partial(_hoarding, bench))]


def rows(bench: Bench, results: Results) -> list[Row]:
    title = f"{_NAPS} slow jobs behind quick ones: an idle worker has started the rest"
    return [figure_row(results, title, Key(PART, bench.ours.name, _SETTING), "seconds", Goal("<=", 1), "s")]


def _hoarding(bench: Bench) -> Figures:
    sizes = bench.sizes
    with bench.stage(bench.ours, bench.empty(bench.ours)) as stage:
        stage.call("fill", jobs=sizes.quick_jobs, per_call=sizes.quick_jobs)
        naps = [{"number": _FIRST_NAP + n, "seconds": sizes.nap_seconds} for n in range(_NAPS)]
        canary = {"job_type": NOOP, "payload": {"number": 0}, "queue_name": _CANARY}
        stage.call("enqueue", jobs=[*({"job_type": NAP, "payload": nap} for nap in naps), canary])
        stage.start_worker({"queue": "default", "concurrency": _BUSY_SLOTS})
        _wait_for_naps(stage, 1, READY_SECONDS + sizes.drain_cap)
        # Its first job is the canary, which the other worker doesn't serve: from then on it is there.
        stage.start_worker({"queue": [_CANARY, "default"], "concurrency": _NAPS - _BUSY_SLOTS})
        _wait_for_naps(stage, _NAPS, READY_SECONDS + sizes.nap_seconds * _NAPS)
        marks = stage.marks()
    idle_ns = next(mark.at_ns for mark in marks if mark.worker == len(stage.workers))
    starts = sorted(mark.at_ns for mark in marks if mark.number >= _FIRST_NAP)
    return {"seconds": max(0.0, (starts[-1] - max(idle_ns, starts[_BUSY_SLOTS - 1])) / 1e9)}


def _wait_for_naps(stage: Stage, wanted: int, seconds: float) -> None:
    def started() -> bool:
        return sum(mark.number >= _FIRST_NAP for mark in stage.marks()) >= wanted

    if not stage.wait_until(started, seconds):
        raise NotMeasured(f"{wanted} slow jobs were not started within {seconds:.0f} s")
