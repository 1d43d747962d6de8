"""A drain while somebody holds an old snapshot, so that dead rows and index entries can't be removed."""

from __future__ import annotations

from functools import partial

from scripts.bench.bench import Bench
from scripts.bench.drains import drain
from scripts.bench.errors import NotMeasured
from scripts.bench.figures import started_per_second
from scripts.bench.goals import Goal, Row, figure_row
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "snapshot"
_HELD = "a snapshot held open"


def trials(bench: Bench) -> list[Trial]:
    return [Trial(Key(PART, bench.ours.name, _HELD), partial(_drain, bench))]


def rows(bench: Bench, results: Results) -> list[Row]:
    sizes = bench.sizes
    title = f"drain of {sizes.snapshot:,} under an open snapshot: last {sizes.snapshot_slice:,} of the first"
    return [figure_row(results, title, Key(PART, bench.ours.name, _HELD), "last_of_first", Goal(">=", 0.8), "x")]


def _drain(bench: Bench) -> Figures:
    sizes = bench.sizes
    with (
        bench.stage(bench.ours, bench.filled(bench.ours, sizes.snapshot)) as stage,
        stage.database.connect() as reader,
    ):
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM processing_jobs")
        drained = drain(stage, sizes.snapshot, [{}], cap_seconds=sizes.snapshot_cap)
    if drained.finished < sizes.snapshot:
        raise NotMeasured(f"only {drained.finished:,} of {sizes.snapshot:,} jobs in {sizes.snapshot_cap:g} s")
    first = started_per_second(drained.marks[: sizes.snapshot_slice])
    last = started_per_second(drained.marks[-sizes.snapshot_slice :])
    return {"first_per_second": first, "last_per_second": last, "last_of_first": last / first}
