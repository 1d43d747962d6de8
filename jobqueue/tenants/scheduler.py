"""Which tenants get how many of the next jobs: fair by measured worker time. No database and no clock in here.

Start-time fair queueing: each tenant has an account of the worker seconds it had, divided by its weight. The next job
goes to whoever had least. Whoever comes back after idling starts at what the others had least, so that nobody saves up.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

#: What a job is expected to take before any has ended, in seconds; and the weight of one more job in the average.
_FIRST_GUESS_SECONDS = 0.05
_WEIGHT_OF_NEWEST = 0.2
_SHORTEST_SECONDS = 1e-4
#: Quick jobs are given by as many as take so long together: each visit to a tenant costs a commit.
QUANTUM_SECONDS = 0.025
#: How many accounts are kept; of the others nobody is busy, and they lose nothing by it.
_MOST_ACCOUNTS = 20_000


class Candidate(NamedTuple):
    """A tenant in which something may be due."""

    name: str
    #: Worker seconds it has had, divided by its weight.
    had: float
    #: Expected seconds of its next job, greater than 0.
    job_seconds: float
    weight: float = 1.0
    #: How many more of its jobs may run; None: any number.
    room: int | None = None


def share_out(room: int, candidates: Iterable[Candidate]) -> dict[str, int]:
    """Share ``room`` jobs out among tenants: each to whoever had least, by what it is expected to take.

    Of quick jobs several are given at once. As long as two tenants have work and are below their caps, what they had
    never differs by more than one job of each, or ``QUANTUM_SECONDS`` where that is more. So nobody waits for longer
    than the others' time for so much, whatever they have waiting.

    Returns:
        How many jobs to claim in which tenant, the one that had least first. A tenant that is given none isn't in it.
        Who has fewer jobs than its share leaves room: call again with the others.
    """
    queue = [(each.had, position, each) for position, each in enumerate(candidates) if each.room is None or each.room]
    heapq.heapify(queue)
    shares: dict[str, int] = {}
    while queue and room > 0:
        had, position, tenant = queue[0]
        had_already = shares.get(tenant.name, 0)
        given = min(room, max(1, int(QUANTUM_SECONDS / tenant.job_seconds)))
        if tenant.room is not None:
            given = min(given, tenant.room - had_already)
        shares[tenant.name] = had_already + given
        room -= given
        if shares[tenant.name] == tenant.room:
            heapq.heappop(queue)
        else:
            heapq.heapreplace(queue, (had + given * tenant.job_seconds / tenant.weight, position, tenant))
    return shares


@dataclass
class _Account:
    had: float = 0.0
    job_seconds: float | None = None
    #: What each job that runs was charged, the oldest first.
    charged: deque[float] = field(default_factory=deque)


class FairShares:
    """The accounts of one worker: it shares out its own time, and so does each other worker.

    Args:
        weights: Of tenants that are to get more or less than others; 1 for who isn't in it.
        caps: How many jobs of a tenant may run in this worker at once.
    """

    def __init__(self, weights: Mapping[str, float] | None = None, caps: Mapping[str, int] | None = None) -> None:
        self._weights = weights or {}
        self._caps = caps or {}
        self._accounts: defaultdict[str, _Account] = defaultdict(_Account)
        self._competing: set[str] = set()
        # What a job takes on average, whosever it is: expected of a tenant of whom none has ended.
        self._job_seconds = _FIRST_GUESS_SECONDS
        # Where the least of those who compete stood at the last sharing: nobody falls behind it by idling.
        self._floor = 0.0

    def share_out(self, room: int, names: Sequence[str]) -> dict[str, int]:
        """Share out among tenants in which something may be due; of equals, whoever stands first is first."""
        for name in names:
            if name not in self._competing:
                account = self._accounts[name]
                account.had = max(account.had, self._floor)
        self._competing = {*names, *(name for name in self._competing if self._accounts[name].charged)}
        shares = share_out(room, [self._candidate(name) for name in names])
        self._floor = max(self._floor, min((self._accounts[name].had for name in names), default=self._floor))
        self._forget_the_idle()
        return shares

    def claimed(self, name: str, count: int) -> None:
        """Charge a tenant for jobs that were claimed, by what they are expected to take."""
        account = self._accounts[name]
        expected = self._expected(account)
        account.charged.extend([expected] * count)
        account.had += count * expected / self._weight(name)

    def ended(self, name: str, seconds: float) -> None:
        """Charge a tenant for what a job took indeed."""
        account = self._accounts[name]
        charged = account.charged.popleft() if account.charged else 0.0
        account.had += (seconds - charged) / self._weight(name)
        seconds = max(seconds, _SHORTEST_SECONDS)
        self._job_seconds += _WEIGHT_OF_NEWEST * (seconds - self._job_seconds)
        average = account.job_seconds
        account.job_seconds = seconds if average is None else average + _WEIGHT_OF_NEWEST * (seconds - average)

    def returned(self, name: str, count: int) -> None:
        """Give back what jobs were charged that have not begun."""
        account = self._accounts[name]
        for _ in range(min(count, len(account.charged))):
            account.had -= account.charged.pop() / self._weight(name)

    def _candidate(self, name: str) -> Candidate:
        account = self._accounts[name]
        cap = self._caps.get(name)
        room = None if cap is None else max(0, cap - len(account.charged))
        return Candidate(name, account.had, self._expected(account), self._weight(name), room)

    def _expected(self, account: _Account) -> float:
        return self._job_seconds if account.job_seconds is None else account.job_seconds

    def _weight(self, name: str) -> float:
        return self._weights.get(name, 1.0)

    def _forget_the_idle(self) -> None:
        if len(self._accounts) > _MOST_ACCOUNTS:
            self._accounts = defaultdict(
                _Account, {name: self._accounts[name] for name in self._competing if name in self._accounts}
            )
