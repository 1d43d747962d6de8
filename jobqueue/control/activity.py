"""What was done when, made of a sample of jobs: pure functions."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from jobqueue.control.sampling import Seen
from jobqueue.states import JobStatus


@dataclass(frozen=True)
class Span:
    """The time that is looked at, in slots of equal length. Seconds since the epoch."""

    end: float
    slot_seconds: float
    slots: int

    @property
    def start(self) -> float:
        """When it begins."""
        return self.end - self.slots * self.slot_seconds

    def slot(self, moment: float) -> int | None:
        """Return the slot of a moment; None outside of the span. The end belongs to the last one."""
        if not self.start <= moment <= self.end:
            return None
        return min(int((moment - self.start) / self.slot_seconds), self.slots - 1)


@dataclass(frozen=True)
class Activity:
    """One value per slot each; numbers of jobs may be estimates."""

    enqueued: list[float]
    finished: list[float]
    #: How long half of the started jobs had been due at most, and 95 of 100; None: none was started.
    wait_median: list[float | None]
    wait_p95: list[float | None]
    retried: list[float]
    died: list[float]
    #: Due and not started, at the end of each slot.
    waiting: list[float]


def activity(jobs: Sequence[Seen], span: Span, *, waiting_before: float = 0) -> Activity:
    """Sort jobs into the slots of a span.

    Args:
        jobs: Those enqueued within the span.
        span: Its slots.
        waiting_before: Jobs that have been waiting for longer than the span, which are not among ``jobs``.
    """
    started = [job for job in jobs if job.started is not None and job.status != JobStatus.PENDING]
    waits = _by_slot(started, lambda job: job.started, span)
    return Activity(
        enqueued=_sums(jobs, lambda job: job.created, span),
        finished=_sums(jobs, lambda job: job.finished, span),
        wait_median=[_quantile(slot, 0.5) for slot in waits],
        wait_p95=[_quantile(slot, 0.95) for slot in waits],
        retried=_sums((job for job in started if job.attempts > 1), lambda job: job.started, span),
        died=_sums((job for job in started if job.status == JobStatus.DEAD_LETTER), lambda job: job.started, span),
        waiting=_waiting(jobs, span, waiting_before),
    )


def _by_slot(jobs: Iterable[Seen], moment: Callable[[Seen], float | None], span: Span) -> list[list[Seen]]:
    slots: list[list[Seen]] = [[] for _ in range(span.slots)]
    for job in jobs:
        at = moment(job)
        slot = None if at is None else span.slot(at)
        if slot is not None:
            slots[slot].append(job)
    return slots


def _sums(jobs: Iterable[Seen], moment: Callable[[Seen], float | None], span: Span) -> list[float]:
    return [sum(job.weight for job in slot) for slot in _by_slot(jobs, moment, span)]


def _quantile(jobs: list[Seen], share: float) -> float | None:
    """Return the wait that this share of the jobs did not exceed."""
    if not jobs:
        return None
    waits = sorted((max((job.started or 0) - job.available, 0.0), job.weight) for job in jobs)
    reached = list(accumulate(weight for _, weight in waits))
    return waits[min(bisect_left(reached, share * reached[-1]), len(waits) - 1)][0]


def _waiting(jobs: Iterable[Seen], span: Span, waiting_before: float) -> list[float]:
    """Count at the end of each slot what is due by then and not started by then."""
    ends = [span.start + (slot + 1) * span.slot_seconds for slot in range(span.slots)]
    changes = [0.0] * (span.slots + 1)
    for job in jobs:
        until = job.started if job.status != JobStatus.PENDING else None
        if until is None and job.status == JobStatus.FAILED:
            until = job.finished  # cancelled before it was ever started
        changes[bisect_left(ends, job.available)] += job.weight
        if until is not None:
            changes[bisect_left(ends, max(until, job.available))] -= job.weight
    waiting, now = [], waiting_before
    for change in changes[: span.slots]:
        now += change
        waiting.append(max(now, 0.0))
    return waiting
