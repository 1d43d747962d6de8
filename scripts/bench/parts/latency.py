"""From the commit of an enqueue to the start of its handler, by a worker that waits."""

from __future__ import annotations

import json
from functools import partial

from scripts.bench.bench import Bench
from scripts.bench.errors import NotMeasured
from scripts.bench.figures import percentile
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "latency"
AWAKENED = "with wake-ups"
POLLING = "polling alone"
#: Makes our worker look for work without being told.
NO_LISTENER = {"LISTEN": False}
_FIRST = 1_000
_LAST_JOBS_SECONDS = 15


def trials(bench: Bench) -> list[Trial]:
    ours = bench.ours.name
    return [
        Trial(Key(PART, ours, AWAKENED), partial(_latency, bench, {})),
        Trial(Key(PART, ours, POLLING), partial(_latency, bench, {"BENCH_JOBQUEUE": json.dumps(NO_LISTENER)}), 1),
    ]


def rows(bench: Bench, results: Results) -> list[Row]:
    key = Key(PART, bench.ours.name, AWAKENED)
    return [
        figure_row(results, "latency, commit to start: p50", key, "p50_ms", Goal("<=", 5), "ms"),
        figure_row(results, "latency, commit to start: p99", key, "p99_ms", Goal("<=", 20), "ms"),
    ]


def _latency(bench: Bench, variables: dict[str, str]) -> Figures:
    sizes = bench.sizes
    with bench.stage(bench.ours, bench.empty(bench.ours), **variables) as stage:
        stage.start_worker({})
        stage.prove_ready()
        enqueued = stage.call("paced", first=_FIRST, jobs=sizes.paced, pause_seconds=sizes.pace_seconds)
        # One job proved the worker ready, one warmed the producer up.
        if not stage.wait_for_marks(sizes.paced + 2, _LAST_JOBS_SECONDS):
            raise NotMeasured(f"not all jobs were started {_LAST_JOBS_SECONDS} s after the last commit")
        started = {mark.number: mark.at_ns for mark in reversed(stage.marks())}
    waited = [(started[number] - committed_ns) / 1e6 for number, committed_ns in enqueued]
    return {"p50_ms": percentile(waited, 50), "p99_ms": percentile(waited, 99), "max_ms": max(waited)}
