"""Working off no-op jobs that wait: by one process, by two, and with claims of one job."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from scripts.bench.bench import Bench
from scripts.bench.contender import Setting
from scripts.bench.drains import drain
from scripts.bench.goals import Goal, Row, ahead_row, ratio_row
from scripts.bench.stage import Entrant
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "drain"
RATE = "per_second"
ONE_PROCESS = "1 process"
TWO_PROCESSES = "2 processes"
QUIET = "1 process, log level WARNING"
CLAIMS_OF_ONE = "concurrency 1, claims of 1"
BEST = "best, 1 process"
BEST_TWICE = "best, 2 processes"
STOCK = "stock"
FLOOR_SINGLE = "n = 1, two transactions"
FLOOR_BEST = ("n = 100, two transactions", "n = 100, one transaction")
#: Makes our worker claim no more than it has slots.
NO_PREFETCH = {"PREFETCH": False}
_FLOOR_BATCHES = (1, 10, 100)


def trials(bench: Bench) -> list[Trial]:
    ours = [
        _trial(bench, bench.ours, ONE_PROCESS, [{}]),
        _trial(bench, bench.ours, TWO_PROCESSES, [{"processes": 2}], workers=2),
        _trial(bench, bench.ours, CLAIMS_OF_ONE, [{"concurrency": 1}], BENCH_JOBQUEUE=json.dumps(NO_PREFETCH)),
        _trial(bench, bench.ours, QUIET, [{}], BENCH_LOG_LEVEL="WARNING"),
    ]
    floor = [
        _trial(bench, bench.floor, _floor_setting(batch, fused), [{"batch": batch, "fused": fused}])
        for batch in _FLOOR_BATCHES
        for fused in (False, True)
    ]
    peers = [trial for peer in bench.peers for trial in _peer_trials(bench, peer)]
    return ours + floor + peers


def rows(bench: Bench, results: Results) -> list[Row]:
    ours, floor = bench.ours.name, bench.floor.name
    one, two, single = (Key(PART, ours, setting) for setting in (ONE_PROCESS, TWO_PROCESSES, CLAIMS_OF_ONE))
    hundreds = [Key(PART, floor, setting) for setting in FLOOR_BEST]
    best_floor = results.fastest(hundreds, RATE) or hundreds[0]
    floor_single = Key(PART, floor, FLOOR_SINGLE)
    django = [peer for peer in bench.peers if peer.contender.for_django]
    return [
        ratio_row(
            results, "drain, 1 process: of the floor's best with n = 100", RATE, one, best_floor, Goal(">=", 0.6)
        ),
        ahead_row(results, "drain, 1 process: of the fastest peer", RATE, one, _best(bench.peers, BEST)),
        ratio_row(results, "drain, 2 processes: of 1 process", RATE, two, one, Goal(">=", 1.6)),
        ahead_row(results, "drain, 2 processes: of the fastest peer", RATE, two, _best(bench.peers, BEST_TWICE)),
        ratio_row(results, "drain, claims of 1: of the floor with n = 1", RATE, single, floor_single, Goal(">=", 0.5)),
        ahead_row(results, "drain, claims of 1: of the fastest Django peer", RATE, single, _best(django, BEST)),
    ]


def _best(peers: Sequence[Entrant], setting: str) -> list[Key]:
    return [Key(PART, peer.name, setting) for peer in peers]


def _floor_setting(batch: int, fused: bool) -> str:
    return f"n = {batch}, {'one transaction' if fused else 'two transactions'}"


def _peer_trials(bench: Bench, peer: Entrant) -> list[Trial]:
    stock, best = peer.contender.stock, peer.contender.best
    return [
        _trial(bench, peer, STOCK, [stock], most_rounds=1),
        _trial(bench, peer, BEST, [best]),
        _trial(bench, peer, BEST_TWICE, [best, best], workers=2),
    ]


def _trial(
    bench: Bench,
    who: Entrant,
    setting: str,
    workers_settings: Sequence[Setting],
    *,
    workers: int = 1,
    most_rounds: int = 1_000,
    **variables: str,
) -> Trial:
    """Two workers are given twice the jobs, so that they work together for as long as one works alone."""
    jobs = min(bench.sizes.drain * workers, who.contender.waiting)

    def measure() -> Figures:
        return _drain(bench, who, jobs, workers_settings, workers, variables)

    return Trial(Key(PART, who.name, setting), measure, most_rounds)


def _drain(
    bench: Bench, who: Entrant, jobs: int, settings: Sequence[Setting], workers: int, variables: Mapping[str, str]
) -> Figures:
    with bench.stage(who, bench.filled(who, jobs), **variables) as stage:
        return drain(stage, jobs, settings, cap_seconds=bench.sizes.drain_cap, workers=workers).figures
