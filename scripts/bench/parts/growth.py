"""The same drain beside a million rows that don't matter to it: finished, due later, of another type or queue.

A claim descends trees that grow with the table, if only by a level for each factor of some hundred; so buffers are
compared between a million such rows and a hundredth of them, while rates are compared with those of an empty table.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from psycopg import sql

from scripts.bench.bench import Bench
from scripts.bench.drains import drain
from scripts.bench.errors import NotMeasured
from scripts.bench.goals import Goal, Row, ratio_row, worst_row
from scripts.bench.ours import NOOP
from scripts.bench.server import Database
from scripts.bench.stage import Stage, open_stage
from scripts.bench.statements import asked, count_in
from scripts.bench.trials import Figures, Key, Results, Trial

PART = "growth"
RATE = "per_second"
_ALONE = "nothing else"
_OTHER_TYPE = "bench.other"  # no worker has a handler for it
_CLAIM, _CLAIMS, _POLLS = 100, 5, 20
_SECONDS_FOR_ONE_JOB = 30


def trials(bench: Bench) -> list[Trial]:
    beside = [_ALONE, *_SEEDS]
    rates = [Trial(_key(bench, name), partial(_rate, bench, name)) for name in beside]
    buffers = [Trial(_buffers_key(bench, name), partial(_buffers, bench, name), most_rounds=1) for name in _SEEDS]
    return rates + buffers


def rows(bench: Bench, results: Results) -> list[Row]:
    count = f"{bench.sizes.beside:,}"
    rates = [
        ratio_row(
            results, f"drain beside {count} {name}: of an empty table's", RATE,
            _key(bench, name), _key(bench, _ALONE), Goal(">=", 0.9),
        )
        for name in _SEEDS
    ]  # fmt: skip
    grown = [_buffers_key(bench, name) for name in _SEEDS]
    beside = f"beside {count}: of beside {_few(bench):,}, at worst"
    goal = Goal("<=", 1.5)
    return [
        *rates,
        worst_row(results, f"buffers of a claim of {_CLAIM} {beside}", grown, "claim_growth", goal),
        worst_row(results, f"buffers of an idle poll {beside}", grown, "poll_growth", goal),
    ]


def _few(bench: Bench) -> int:
    return bench.sizes.beside // 100


def _key(bench: Bench, beside: str) -> Key:
    return Key(PART, bench.ours.name, f"beside {beside}")


def _buffers_key(bench: Bench, beside: str) -> Key:
    return Key(PART, bench.ours.name, f"buffers beside {beside}")


def _rate(bench: Bench, beside: str) -> Figures:
    with bench.stage(bench.ours, bench.filled(bench.ours, bench.sizes.drain, _base(bench, beside))) as stage:
        setting = {"queue": "default", "type": NOOP}
        return drain(stage, bench.sizes.drain, [setting], cap_seconds=bench.sizes.drain_cap).figures


def _buffers(bench: Bench, beside: str) -> Figures:
    few, many = (_buffers_on(bench, _grown(bench, beside, rows)) for rows in (_few(bench), bench.sizes.beside))
    growth = {f"{name}_growth": many[name] / max(few[name], 1.0) for name in many}
    return {f"{name}_buffers": value for name, value in many.items()} | growth


def _buffers_on(bench: Bench, grown: Database) -> Figures:
    """Of claims as a worker makes them, where there is enough to claim and where there is nothing."""
    with bench.stage(bench.ours, bench.filled(bench.ours, bench.sizes.drain, grown)) as stage:
        claim = _buffers_of_dequeue(stage, _CLAIMS, expected=_CLAIM * _CLAIMS)
    with bench.stage(bench.ours, grown) as stage:
        poll = _buffers_of_dequeue(stage, _POLLS, expected=0)
    return {"claim": claim, "poll": poll}


def _buffers_of_dequeue(stage: Stage, times: int, expected: int) -> float:
    count_in(stage.database)
    before = asked(stage.database)
    if (claimed := stage.call("dequeue", limit=_CLAIM, times=times)) != expected:
        raise NotMeasured(f"{claimed} jobs were claimed where {expected} were expected")
    return (asked(stage.database) - before).buffers / times


def _base(bench: Bench, beside: str) -> Database:
    return bench.empty(bench.ours) if beside == _ALONE else _grown(bench, beside, bench.sizes.beside)


def _grown(bench: Bench, beside: str, rows: int) -> Database:
    """Return the template with so many rows of a kind: one that the queue itself made, and its copies."""

    def build(database: Database) -> None:
        with open_stage(bench.ours, database, bench.folder) as stage:
            _SEEDS[beside](stage)
        _multiply(database, rows)

    return bench.server.template(f"{rows} {beside}", build, bench.empty(bench.ours))


def _finished(stage: Stage) -> None:
    stage.call("fill", jobs=1, per_call=1)
    stage.start_worker({"drain": True})
    if not stage.wait_until(lambda: stage.unfinished() == 0, _SECONDS_FOR_ONE_JOB):
        raise NotMeasured(f"the worker did not finish a job within {_SECONDS_FOR_ONE_JOB} s")


def _due_later(stage: Stage) -> None:
    stage.call("enqueue_later", job_type=NOOP)


def _other_type(stage: Stage) -> None:
    stage.call("enqueue", jobs=[{"job_type": _OTHER_TYPE, "payload": {"number": 0}}])


def _other_queue(stage: Stage) -> None:
    stage.call("enqueue", jobs=[{"job_type": NOOP, "payload": {"number": 0}, "queue_name": "other"}])


_SEEDS: dict[str, Callable[[Stage], None]] = {
    "finished": _finished,
    "due later": _due_later,
    "of another type": _other_type,
    "of another queue": _other_queue,
}


def _multiply(database: Database, rows: int) -> None:
    """Copy the one row of the table until there are so many, each due a millisecond before the one before."""
    with database.connect() as connection:
        found = connection.execute(
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_name = 'processing_jobs' AND column_name <> 'id' AND is_generated = 'NEVER'"
        ).fetchall()
        names = [sql.Identifier(name) for (name,) in found]
        values = [
            sql.SQL("{} - number * interval '1 millisecond'").format(name)
            if name.as_string() == '"available_at"'
            else name
            for name in names
        ]
        copy = sql.SQL("INSERT INTO processing_jobs ({}) SELECT {} FROM processing_jobs, generate_series(2, {}) number")
        connection.execute(copy.format(sql.SQL(", ").join(names), sql.SQL(", ").join(values), rows))
