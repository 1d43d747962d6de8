"""Putting jobs in: one by one, each in a transaction of its own, and many by one call."""

from __future__ import annotations

from functools import partial

from scripts.bench.bench import Bench
from scripts.bench.goals import Goal, Row, ahead_row, ratio_row
from scripts.bench.stage import Entrant
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "enqueue"
SINGLE = ("a transaction each", "INSERT")
BULK = ("many by one call", "COPY")
_CALLS = 2


def trials(bench: Bench) -> list[Trial]:
    entrants = [bench.ours, bench.floor, *bench.peers]
    single = [Trial(_one(who), partial(_one_by_one, bench, who)) for who in entrants]
    bulk = [Trial(_many(who), partial(_in_bulk, bench, who)) for who in entrants if who.contender.has_bulk]
    return single + bulk


def rows(bench: Bench, results: Results) -> list[Row]:
    peers = [_many(peer) for peer in bench.peers]
    return [
        ratio_row(
            results, "enqueue, a transaction each: of the floor's INSERT", "per_second",
            _one(bench.ours), _one(bench.floor), Goal(">=", 0.8),
        ),
        ahead_row(results, f"enqueue_many of {bench.sizes.bulk:,}: of the fastest peer", "per_second",
                  _many(bench.ours), peers),
    ]  # fmt: skip


def _one(who: Entrant) -> Key:
    return Key(PART, who.name, SINGLE[who.name == "floor"])


def _many(who: Entrant) -> Key:
    return Key(PART, who.name, BULK[who.name == "floor"])


def _one_by_one(bench: Bench, who: Entrant) -> Figures:
    with bench.stage(who, bench.empty(who)) as stage:
        return {"per_second": stage.call("one_by_one", seconds=bench.sizes.enqueue_seconds)}


def _in_bulk(bench: Bench, who: Entrant) -> Figures:
    with bench.stage(who, bench.empty(who)) as stage:
        return {"per_second": stage.call("in_bulk", jobs=bench.sizes.bulk, calls=_CALLS)}
