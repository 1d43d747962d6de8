"""What a job costs the server, which doesn't depend on the machine: statements, WAL, buffers."""

from __future__ import annotations

from functools import partial

from scripts.bench.bench import Bench
from scripts.bench.contender import Setting
from scripts.bench.drains import drain
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.stage import Entrant
from scripts.bench.statements import asked, count_in
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "costs"
_WORKING = "per job, 1 process"
_FLOOR = "per job, n = 100, one transaction"
_SINGLE_JOBS = 1_000
_PER_CALL = 5_000


def trials(bench: Bench) -> list[Trial]:
    floor = {"batch": 100, "fused": True}
    return [
        Trial(Key(PART, bench.ours.name, _WORKING), partial(_costs, bench, bench.ours, {})),
        Trial(Key(PART, bench.floor.name, _FLOOR), partial(_costs, bench, bench.floor, floor)),
    ]


def rows(bench: Bench, results: Results) -> list[Row]:
    ours = Key(PART, bench.ours.name, _WORKING)
    return [
        figure_row(results, "statements per job at load", ours, "statements", Goal("<=", 0.1)),
        figure_row(results, "WAL per job, from enqueue to finish", ours, "wal_bytes", Goal("<=", 2_048), "bytes"),
    ]


def _costs(bench: Bench, who: Entrant, setting: Setting) -> Figures:
    """Statements and buffers are those of a worker at load; WAL also that of an enqueue in its own transaction.

    WAL is the whole server's, with what autovacuum writes meanwhile; what that did elsewhere is noise.
    """
    jobs = min(bench.sizes.drain, who.contender.waiting)
    with bench.stage(who, bench.empty(who)) as stage:
        count_in(stage.database)
        at_first = asked(stage.database)
        stage.call("fill", jobs=_SINGLE_JOBS, per_call=1)
        enqueueing = asked(stage.database) - at_first
        stage.call("fill", jobs=jobs, per_call=_PER_CALL)
        before = asked(stage.database)
        drained = drain(stage, _SINGLE_JOBS + jobs, [setting], cap_seconds=bench.sizes.drain_cap)
        working = asked(stage.database) - before
    finished = max(drained.finished, 1)
    enqueue_wal, work_wal = enqueueing.wal_bytes / _SINGLE_JOBS, working.wal_bytes / finished
    return {
        "statements": working.statements / finished,
        "begin_and_commit": working.transaction_control / finished,
        "buffers": working.buffers / finished,
        "wal_bytes": enqueue_wal + work_wal,
        "of_it_by_the_enqueue": enqueue_wal,
    }
