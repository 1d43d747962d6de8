"""The fleet's counts as text for Prometheus; docs/reference/metrics.md lists the names.

The names of tenants and states need no escaping, and every value is read when it is asked for. What a library for
metrics brings (counters, registries, files that processes share) would stay unused: hence none.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dms_project.operators.fleet_counts import FleetCounts
from dms_project.operators.worker_time import NEWEST
from jobqueue.rows.counts import LIMIT, Counts

#: Tenants with a label of their own, those with most to do; all others are added up.
LABELLED_TENANTS = 20
OTHERS = "_other"  # which no tenant can be called

_STATES = ("pending", "processing", "dead_letter")


@dataclass
class _Sum:
    """The jobs of one label: of a tenant, or of all that have none of their own."""

    pending: int = 0
    processing: int = 0
    dead_letter: int = 0
    oldest_seconds: float = 0.0
    worker_seconds: float = 0.0
    cut_off: int = 0

    @property
    def unfinished(self) -> int:
        return self.pending + self.processing + self.dead_letter

    def add(self, other: "_Sum") -> None:
        self.pending += other.pending
        self.processing += other.processing
        self.dead_letter += other.dead_letter
        self.oldest_seconds = max(self.oldest_seconds, other.oldest_seconds)
        self.worker_seconds += other.worker_seconds
        self.cut_off += other.cut_off


def lines(fleet: FleetCounts) -> Iterator[str]:
    """Return what is known of the fleet, after a refresh."""
    samples = fleet.samples
    sums = _by_label(
        {name: _sum(sample.counts, sample.worker_seconds, fleet) for name, sample in samples.items() if sample.counts}
    )
    unreadable = sum(sample.counts is None for sample in samples.values())
    oldest = min((sample.read_at for sample in samples.values()), default=time.monotonic())
    yield from database(up=True)
    yield from _gauge(
        "dms_jobs",
        f"Unfinished jobs, counted up to {LIMIT} per tenant and status.",
        (
            (f'{{tenant="{label}",status="{state}"}}', getattr(sums[label], state))
            for label in sums
            for state in _STATES
        ),
    )
    yield from _gauge(
        "dms_oldest_due_job_seconds",
        "How long the job has been due that waits for longest; 0 if none waits.",
        ((f'{{tenant="{label}"}}', round(sums[label].oldest_seconds, 3)) for label in sums),
    )
    yield from _gauge(
        "dms_worker_seconds_last_hour",
        f"For how long jobs ran that ended within the last hour, among the newest {NEWEST} of each tenant.",
        ((f'{{tenant="{label}"}}', round(sums[label].worker_seconds, 3)) for label in sums),
    )
    yield from _gauge(
        "dms_job_counts_cut_off",
        f"How many of the counts reached {LIMIT}: what they add up to is then a lower bound.",
        [("", sum(each.cut_off for each in sums.values()))],
    )
    yield from _gauge(
        "dms_job_counts_age_seconds",
        "How old the oldest of the counts is.",
        [("", round(time.monotonic() - oldest, 3))],
    )
    yield from _gauge(
        "dms_tenants",
        "Tenants (public is one) whose jobs were counted, could not be, or have not been yet.",
        [
            ('{state="counted"}', len(samples) - unreadable),
            ('{state="unreadable"}', unreadable),
            ('{state="unread"}', fleet.unread),
        ],
    )
    yield from _gauge("dms_tenants_suspended", "Tenants that are not served.", [("", fleet.suspended)])


def database(*, up: bool) -> Iterator[str]:
    """Return the one thing that can be said without a database, too."""
    yield from _gauge(
        "dms_database_up", "Whether the database answered; if not, nothing else is said.", [("", int(up))]
    )


def _sum(counts: Counts, worker_seconds: float, fleet: FleetCounts) -> _Sum:
    unfinished = (counts.pending, counts.processing, counts.dead_letter)
    oldest = (fleet.now - counts.oldest_due).total_seconds() if counts.oldest_due else 0.0
    return _Sum(*unfinished, max(oldest, 0.0), worker_seconds, cut_off=sum(count >= LIMIT for count in unfinished))


def _by_label(tenants: dict[str, _Sum]) -> dict[str, _Sum]:
    by_work = sorted(tenants, key=lambda name: (-tenants[name].unfinished, name))
    labels = {name: tenants[name] for name in sorted(by_work[:LABELLED_TENANTS])}
    for name in by_work[LABELLED_TENANTS:]:
        labels.setdefault(OTHERS, _Sum()).add(tenants[name])
    return labels


def _gauge(name: str, text: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    for labels, value in values:
        yield f"{name}{labels} {value}"
