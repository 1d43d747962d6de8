"""Measuring: every trial of every part, in turns, round after round."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import psycopg

from scripts.bench import report
from scripts.bench.errors import NotMeasured
from scripts.bench.machine import OtherLoad
from scripts.bench.server import Server
from scripts.bench.trials import Results, Sample, Trial


def measure(
    server: Server, parts: Sequence[Sequence[Trial]], rounds: int, say: Callable[[str], None]
) -> tuple[Results, dict[str, float]]:
    """Return all samples, and the seconds that each part took.

    The rounds are the outer loop, so that whatever slows the machine down for a while slows all contenders.
    """
    results = Results()
    seconds: dict[str, float] = {}
    process = server.process()
    for turn in range(1, rounds + 1):
        for trials in parts:
            for trial in trials:
                if turn > trial.most_rounds:
                    continue
                sample = _sample(trial, turn, OtherLoad(process))
                results.add(sample)
                seconds[trial.key.part] = seconds.get(trial.key.part, 0.0) + sample.seconds
                say(report.progress(sample, rounds))
    return results, seconds


def _sample(trial: Trial, turn: int, others: OtherLoad) -> Sample:
    started = time.monotonic()
    figures: dict[str, float] = {}
    reason = ""
    try:
        figures = trial.measure()
    except (NotMeasured, psycopg.Error) as error:
        reason = str(error).splitlines()[0]
    cores = others.cores()
    return Sample(trial.key, turn, time.monotonic() - started, round(cores, 2), figures, reason)
