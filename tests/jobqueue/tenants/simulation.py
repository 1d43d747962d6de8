"""A worker and its tenants without database and clock: jobs of known length, shared out by the real scheduler."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobqueue.tenants.scheduler import FairShares


@dataclass
class Simulated:
    """What was simulated: who got how much, and when whose last job ended."""

    #: Of each tenant, after each job that ended: the time, and the worker seconds it has had until then.
    course: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    finished_at: dict[str, float] = field(default_factory=dict)
    #: How many jobs of whom had been begun at the end of the others.
    begun: dict[str, int] = field(default_factory=dict)
    idle_thread_seconds: float = 0.0

    def had(self, name: str, at: float) -> float:
        """Return the worker seconds that a tenant has had at a moment."""
        return max((had for moment, had in self.course[name] if moment <= at), default=0.0)


def simulate(
    jobs: Mapping[str, list[float]],
    threads: int,
    *,
    prefetch: int = 0,
    weights: Mapping[str, float] | None = None,
    caps: Mapping[str, int] | None = None,
    until: float = float("inf"),
) -> Simulated:
    """Work off each tenant's jobs (seconds each), claiming as a worker does, until all are done or time is over."""
    left = {name: list(reversed(lengths)) for name, lengths in jobs.items()}
    shares = FairShares(weights, caps)
    seen = Simulated({name: [(0.0, 0.0)] for name in jobs}, begun=dict.fromkeys(jobs, 0))
    running: list[tuple[float, int, str, float]] = []
    waiting: list[tuple[str, float]] = []
    now, number = 0.0, 0
    while now < until:
        _claim(threads + prefetch - len(running) - len(waiting), left, shares, waiting)
        while waiting and len(running) < threads:
            name, seconds = waiting.pop(0)
            number += 1
            seen.begun[name] += 1
            heapq.heappush(running, (now + seconds, number, name, seconds))
        if not running:
            break
        ended_at, _, name, seconds = heapq.heappop(running)
        if any(left.values()):
            seen.idle_thread_seconds += (threads - 1 - len(running)) * (ended_at - now)
        now = ended_at
        shares.ended(name, seconds)
        seen.course[name].append((now, seen.course[name][-1][1] + seconds))
        if not left[name] and name not in [other for _, _, other, _ in running] + [other for other, _ in waiting]:
            seen.finished_at[name] = now
    return seen


def _claim(room: int, left: dict[str, list[float]], shares: FairShares, waiting: list[tuple[str, float]]) -> None:
    """Claim as the dispatcher does: again and again among those who had more than was claimed."""
    due = [name for name, jobs in left.items() if jobs]
    while room > 0 and due:
        given = shares.share_out(room, due)
        for name, count in given.items():
            taken = [left[name].pop() for _ in range(min(count, len(left[name])))]
            shares.claimed(name, len(taken))
            waiting += [(name, seconds) for seconds in taken]
            room -= len(taken)
        if not given:
            return
        due = [name for name in due if left[name]]
