"""What happened, put together from the ledger and the tables: who enqueued, ran, died and decided what, and when.

Moments are of one machine's monotonic clock, in seconds.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

FOREVER = float("inf")
#: Who was frozen just before its handler began may begin it so long after it was thawed, at most.
BEGINS_WITHIN_SECONDS = 1.0
#: The end of a worker is known so much later than it happened, at most.
NOTICED_WITHIN_SECONDS = 1.0


@dataclass(frozen=True, order=True)
class JobId:
    """A job of a schema."""

    schema: str
    number: int

    def __str__(self) -> str:
        return f"{self.schema}/{self.number}"


@dataclass(frozen=True)
class Enqueue:
    """One job that a producer meant to enqueue, in a transaction with the others of its batch."""

    schema: str
    #: Stands in the payload; unique.
    mark: str
    batch: str
    #: ``committed``: the producer was told so; ``rolled back``: it did so; ``unknown``: it never heard.
    outcome: str
    key: str | None = None


@dataclass
class Run:
    """One run of a handler."""

    job: JobId
    token: str
    attempt: int
    worker: str
    started: float
    #: FOREVER: nobody knows; its worker may have died.
    ended: float = FOREVER
    #: ``returned``, ``raised``, ``useless`` (a retry is); None: it never came to an end.
    how: str | None = None
    #: The schema that its connection was in; None: it didn't look.
    seen_schema: str | None = None


@dataclass(frozen=True)
class Worker:
    """One worker process; its name is never used again, as a process id may be."""

    name: str
    ended: float = FOREVER
    #: Whether it was killed, or ended in any but the orderly way.
    died: bool = False


@dataclass(frozen=True)
class Fault:
    """Something that was broken for a while."""

    kind: str
    began: float
    ended: float
    #: The workers that it concerned, by name; None: all.
    workers: frozenset[str] | None = None
    #: Whether a worker may rightly be taken for dead by it though it lives.
    costs_claims: bool = False

    def concerns(self, worker: str, since: float, until: float) -> bool:
        """Return whether it was there for the worker at some moment of a span."""
        return (self.workers is None or worker in self.workers) and self.began <= until and self.ended >= since


@dataclass(frozen=True)
class Decision:
    """What somebody decided about a job: ``requeue``, ``discard``, ``cancel``."""

    job: JobId
    verb: str
    at: float
    #: ``done``, or ``unknown`` where nobody heard.
    outcome: str


@dataclass(frozen=True)
class Attempt:
    """An entry of a job's own history."""

    number: int
    worker: str
    outcome: str
    error: str
    ended: float


@dataclass(frozen=True)
class Row:
    """A job as it stands in its table at the end."""

    job: JobId
    mark: str
    status: str
    attempts: int
    max_attempts: int
    due: bool
    token: str | None = None
    result_token: str | None = None
    key: str | None = None
    attempts_made: Sequence[Attempt] = ()


class History:
    """All of it."""

    def __init__(
        self,
        enqueues: Sequence[Enqueue] = (),
        rows: Sequence[Row] = (),
        runs: Sequence[Run] = (),
        workers: Sequence[Worker] = (),
        faults: Sequence[Fault] = (),
        decisions: Sequence[Decision] = (),
    ) -> None:
        self.enqueues = enqueues
        self.rows = rows
        self.runs = sorted(runs, key=lambda run: run.started)
        self.workers = {worker.name: worker for worker in workers}
        self.faults = faults
        self.decisions = decisions
        self._runs: defaultdict[JobId, list[Run]] = defaultdict(list)
        for run in self.runs:
            self._runs[run.job].append(run)
        self._verbs: defaultdict[JobId, set[tuple[str, str]]] = defaultdict(set)
        for decision in decisions:
            self._verbs[decision.job].add((decision.verb, decision.outcome))

    def runs_of(self, job: JobId) -> Sequence[Run]:
        """Return the runs of a job, the earliest first."""
        return self._runs.get(job, ())

    def successive_runs(self) -> Iterator[tuple[Run, Run]]:
        """Return each two runs of one job that follow each other."""
        for runs in self._runs.values():
            yield from pairwise(runs)

    def verbs_on(self, job: JobId) -> Set[tuple[str, str]]:
        """Return what was decided about a job, each verb with its outcome."""
        return self._verbs.get(job, frozenset())

    def end_of(self, run: Run) -> float:
        """Return the latest moment at which a run can have been going on."""
        worker = self.workers.get(run.worker)
        return min(run.ended, worker.ended if worker else FOREVER)

    def may_have_lost_its_claim(self, name: str, since: float, until: float) -> bool:
        """Return whether a worker can rightly have been taken for dead in a span of time."""
        worker = self.workers.get(name)
        if worker and worker.died and worker.ended <= until + NOTICED_WITHIN_SECONDS:
            return True
        since -= BEGINS_WITHIN_SECONDS
        return any(fault.costs_claims and fault.concerns(name, since, until) for fault in self.faults)
