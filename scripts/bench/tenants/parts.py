"""What is measured with many tenants, and the goals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from psycopg import sql

from scripts.bench import machine
from scripts.bench.bench import Bench
from scripts.bench.contender import Setting
from scripts.bench.errors import NotMeasured
from scripts.bench.figures import percentile
from scripts.bench.goals import Goal, Row, figure_row, ratio_row
from scripts.bench.marks import Mark
from scripts.bench.server import Database
from scripts.bench.stage import Entrant, Stage, open_stage
from scripts.bench.statements import asked, count_in
from scripts.bench.tenants.fleet import PER_TENANT
from scripts.bench.trials import Figures, Key, Results, Trial

_FLEET: Setting = {"processes": 4}
_SETTLE_SECONDS = 15  # a tenant in which a job ran is looked into once more after ten
_RECORDED_SECONDS = 15
_SMALL, _SMALL_JOBS = 99, 10


@dataclass(frozen=True)
class Sizes:
    """Counts are of jobs, times in seconds."""

    idle_seconds: float = 30
    paced: int = 200
    pace_seconds: float = 0.05
    drain: int = 20_000
    drain_cap: float = 60
    big: int = 100_000
    fair_seconds: float = 10


FULL = Sizes()
QUICK = Sizes(idle_seconds=10, paced=40, drain=2_000, drain_cap=30, big=10_000, fair_seconds=5)


@dataclass(frozen=True)
class Run:
    """One run: with whom, how many tenants, how much."""

    bench: Bench
    fleet: Entrant
    tenants: int
    sizes: Sizes

    def made(self, tenants: int) -> Database:
        """Return the template of a database with so many tenants and no jobs."""

        def build(database: Database) -> None:
            with open_stage(self.fleet, database, self.bench.folder) as stage:
                stage.call("make", tenants=tenants)

        return self.bench.server.template(f"fleet {tenants}", build)

    def key(self, part: str, setting: str) -> Key:
        return Key(part, self.fleet.name, setting)


def trials(run: Run) -> list[Trial]:
    many = f"{run.tenants:,} tenants"
    return [
        Trial(run.key("idle", many), partial(_idle, run), 1),
        Trial(run.key("latency", many), partial(_latency, run)),
        Trial(Key("drain", run.bench.ours.name, "single schema"), partial(_drain_single, run)),
        Trial(run.key("drain", "10 tenants"), partial(_drain, run, 10)),
        Trial(run.key("drain", many), partial(_drain, run, run.tenants)),
        Trial(run.key("migrate", many), partial(_migrate_nothing, run)),
        Trial(run.key("fairness", "1 big, 99 small"), partial(_big_and_small, run)),
        Trial(run.key("fairness", "long and short jobs"), partial(_long_and_short, run)),
    ]


def rows(run: Run, results: Results) -> list[Row]:
    many = f"{run.tenants:,} tenants"
    idle, latency = run.key("idle", many), run.key("latency", many)
    single = Key("drain", run.bench.ours.name, "single schema")
    big, time_shares = run.key("fairness", "1 big, 99 small"), run.key("fairness", "long and short jobs")
    rate = "per_second"
    return [
        figure_row(results, f"{many}, 4 idle workers: statements per second", idle, "statements_per_second",
                   Goal("<=", 2)),
        figure_row(results, f"{many}, 4 idle workers: growth of backends", idle, "backends_grew_mb", Goal("<=", 1),
                   "MB"),
        figure_row(results, "into an idle tenant, commit to start: p50", latency, "p50_ms", Goal("<=", 10), "ms"),
        figure_row(results, "into an idle tenant, commit to start: p99", latency, "p99_ms", Goal("<=", 50), "ms"),
        ratio_row(results, "drain over 10 tenants: of the single schema", rate, run.key("drain", "10 tenants"), single,
                  Goal(">=", 0.8)),
        ratio_row(results, f"drain over {many}: of the single schema", rate, run.key("drain", many), single,
                  Goal(">=", 0.5)),
        figure_row(results, "of the big tenant's jobs, begun before the last small one", big, "percent_of_the_big",
                   Goal("<=", 2), "%"),
        figure_row(results, "Jain index of worker time while all have work", time_shares, "jain", Goal(">=", 0.95)),
        figure_row(results, f"{many}, nothing to migrate", run.key("migrate", many), "seconds", Goal("<=", 5), "s"),
    ]  # fmt: skip


def _idle(run: Run) -> Figures:
    with run.bench.stage(run.fleet, run.made(run.tenants)) as stage:
        count_in(stage.database)
        worker = stage.start_worker(_FLEET)
        stage.prove_ready()
        time.sleep(_SETTLE_SECONDS)
        before, memory, cpu = asked(stage.database), _backends_mb(stage), machine.cpu_seconds(worker.pid)
        started = time.monotonic()
        time.sleep(run.sizes.idle_seconds)
        seconds = time.monotonic() - started
        meanwhile = asked(stage.database) - before
        return {
            "statements_per_second": meanwhile.statements / seconds,
            "begin_and_commit_per_second": meanwhile.transaction_control / seconds,
            "backends_grew_mb": _backends_mb(stage) - memory,
            "cpu_percent": 100 * (machine.cpu_seconds(worker.pid) - cpu) / seconds,
        }


def _migrate_nothing(run: Run) -> Figures:
    with run.bench.stage(run.fleet, run.made(run.tenants)) as stage:
        return {"seconds": stage.call("migrate_nothing")}


def _backends_mb(stage: Stage) -> float:
    server = stage.database.server.process()
    if server is None:
        raise NotMeasured("the server runs on another machine: its memory can't be seen")
    return sum(child.memory_info().rss - child.memory_info().shared for child in server.children()) / 2**20


def _latency(run: Run) -> Figures:
    sizes = run.sizes
    with run.bench.stage(run.fleet, run.made(run.tenants)) as stage:
        stage.start_worker(_FLEET)
        stage.prove_ready()
        time.sleep(_SETTLE_SECONDS)
        enqueued = stage.call("into_idle", tenants=run.tenants, jobs=sizes.paced, pause_seconds=sizes.pace_seconds)
        if not stage.wait_for_marks(len(enqueued) + 2, _RECORDED_SECONDS):
            raise NotMeasured(f"not all jobs were started {_RECORDED_SECONDS} s after the last commit")
        started = {mark.number: mark.at_ns for mark in reversed(stage.marks())}
    waited = [(started[number] - committed_ns) / 1e6 for number, committed_ns in enqueued]
    return {"p50_ms": percentile(waited, 50), "p99_ms": percentile(waited, 99), "max_ms": max(waited)}


def _drain_single(run: Run) -> Figures:
    bench = run.bench
    with bench.stage(bench.ours, bench.filled(bench.ours, run.sizes.drain)) as stage:
        return _rate(stage, run.sizes.drain, run.sizes.drain_cap)


def _drain(run: Run, tenants: int) -> Figures:
    with run.bench.stage(run.fleet, run.made(tenants)) as stage:
        each = run.sizes.drain // tenants
        stage.call("spread", counts={f"t{number}": each for number in range(tenants)})
        figures = _rate(stage, each * tenants, run.sizes.drain_cap)
        if not stage.wait_until(lambda: _unfinished(stage.database, tenants) == 0, _RECORDED_SECONDS):
            raise NotMeasured(f"jobs were started and not on record {_RECORDED_SECONDS} s later")
        return figures


def _rate(stage: Stage, jobs: int, cap_seconds: float) -> Figures:
    """Jobs begun per second, from the first to the last, by one process as it comes."""
    stage.database.server.checkpoint()
    stage.start_worker({})
    if not stage.wait_for_marks(jobs, cap_seconds):
        raise NotMeasured(f"{len(stage.marks())} of {jobs} jobs were begun after {cap_seconds} s")
    marks = stage.marks()
    seconds = (marks[-1].at_ns - marks[0].at_ns) / 1e9
    return {"per_second": jobs / seconds, "started_twice": len(marks) - len({mark.number for mark in marks})}


def _unfinished(database: Database, tenants: int) -> int:
    count = sql.SQL("SELECT count(*) FROM {} WHERE status <> 'succeeded'")
    left = 0
    with database.connect() as connection:
        for number in range(tenants):
            row = connection.execute(count.format(sql.Identifier(f"t{number}", "processing_jobs"))).fetchone()
            left += row[0] if row else 0
    return left


def _big_and_small(run: Run) -> Figures:
    counts = {"t0": run.sizes.big} | {f"t{number}": _SMALL_JOBS for number in range(1, _SMALL + 1)}
    marks = _first_marks(run, counts, {}, lambda marks: _small_ones(marks) >= _SMALL * _SMALL_JOBS)
    last_small = max(mark.at_ns for mark in marks if mark.number >= PER_TENANT)
    begun = sum(mark.at_ns < last_small for mark in marks if mark.number < PER_TENANT)
    return {"percent_of_the_big": 100 * begun / run.sizes.big}


def _small_ones(marks: list[Mark]) -> int:
    return sum(mark.number >= PER_TENANT for mark in marks)


def _long_and_short(run: Run) -> Figures:
    """Eight tenants, whose jobs take 5, 10, 20 or 40 ms, all with more than can be done."""
    naps = {f"t{number}": 0.005 * 2 ** (number % 4) for number in range(8)}
    threads = 8
    enough = {name: int(2 * threads * run.sizes.fair_seconds / len(naps) / nap) for name, nap in naps.items()}
    until = run.sizes.fair_seconds * 1e9
    marks = _first_marks(run, enough, naps, lambda marks: bool(marks) and marks[-1].at_ns - marks[0].at_ns > until)
    had = dict.fromkeys(naps, 0.0)
    for mark in marks:
        name = f"t{mark.number // PER_TENANT}"
        had[name] += naps[name]
    values = list(had.values())
    return {"jain": sum(values) ** 2 / (len(values) * sum(value**2 for value in values)), "least_s": min(values),
            "most_s": max(values)}  # fmt: skip


def _first_marks(run: Run, counts: Mapping[str, int], naps: Mapping[str, float], enough: object) -> list[Mark]:
    with run.bench.stage(run.fleet, run.made(max(_SMALL + 1, len(counts)))) as stage:
        stage.call("spread", counts=dict(counts), seconds=dict(naps))
        stage.database.server.checkpoint()
        stage.start_worker(_FLEET)
        condition = enough if callable(enough) else bool
        if not stage.wait_until(lambda: bool(condition(stage.marks())), run.sizes.drain_cap):
            raise NotMeasured(f"it took more than {run.sizes.drain_cap} s")
        return stage.marks()
