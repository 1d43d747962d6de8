"""Reads the jobs enqueued in the last minutes, hours or days, or a fair sample of them, at a cost that has a bound.

There is no index by ``finished_at`` or ``created_at``, since each job would pay for it. But ids come in the order of
time: where a span of time begins is found by bisection. Of many jobs short stretches are read, evenly apart.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from jobqueue.models import ProcessingJob
from jobqueue.rows.samples import SampledRow, sample_jobs

#: Up to so many jobs are read; of more, so many stretches of so many jobs.
MOST = 4_000
STRETCHES = 800


@dataclass(frozen=True)
class Seen:
    """A job that was read, and for how many it stands. Times in seconds since the epoch."""

    weight: float
    status: str
    attempts: int
    created: float
    available: float
    started: float | None
    finished: float | None


@dataclass(frozen=True)
class Sample:
    """What was read."""

    jobs: list[Seen]
    #: False: the numbers are estimates.
    is_exact: bool


def jobs_since(using: str, since: datetime) -> Sample:
    """Return the jobs enqueued from a moment on, or a sample of them."""
    jobs = ProcessingJob.objects.using(using)
    first, last = _first_since(jobs.all(), since), _edge(jobs.all(), "-pk")
    if first is None or last is None:
        return Sample([], is_exact=True)
    ids = last[0] - first + 1
    if ids <= MOST:
        return Sample([Seen(1.0, *row[1:]) for row in sample_jobs(using, first, ids, 1, MOST)], is_exact=True)
    width = -(-ids // STRETCHES)
    rows = sample_jobs(using, first, width, STRETCHES, MOST // STRETCHES)
    return Sample(_weighted(rows, first, width), is_exact=False)


def _weighted(rows: list[SampledRow], first: int, width: int) -> list[Seen]:
    """Let the jobs that were read of a stretch stand for all of it, as dense as they lie."""
    stretches: dict[int, list[SampledRow]] = {}
    for row in rows:
        stretches.setdefault((row[0] - first) // width, []).append(row)
    seen = []
    for stretch in stretches.values():
        is_whole = len(stretch) < MOST // STRETCHES
        weight = 1.0 if is_whole else max(width / (stretch[-1][0] - stretch[0][0] + 1), 1.0)
        seen += [Seen(weight, *row[1:]) for row in stretch]
    return seen


def _first_since(jobs: QuerySet[ProcessingJob], since: datetime) -> int | None:
    """Find the first id from a moment on: some 25 looks by the primary key, of one row each."""
    first, last = _edge(jobs, "pk"), _edge(jobs, "-pk")
    if first is None or last is None or last[1] < since:
        return None
    low, high = first[0], last[0]
    while low < high:
        middle = (low + high) // 2
        found = _edge(jobs.filter(pk__gte=middle), "pk") or last
        low, high = (found[0] + 1, high) if found[1] < since else (low, middle)
    return low


def _edge(jobs: QuerySet[ProcessingJob], order: str) -> tuple[int, datetime] | None:
    return jobs.order_by(order).values_list("pk", "created_at").first()
