"""Write down how jobs ended: many successes by one statement, each failure by one of its own."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from jobqueue.exceptions import LockLost
from jobqueue.queue import Queue
from jobqueue.rows import fence
from jobqueue.rows.history import note_stopped
from jobqueue.worker import events
from jobqueue.worker.executor import Claim, Ending, Failure


@dataclass
class Recorded:
    """What became of endings; each is in one of the four."""

    succeeded: list[Ending] = field(default_factory=list)
    failed: list[tuple[Ending, str]] = field(default_factory=list)
    lost: list[Ending] = field(default_factory=list)
    #: Another transaction has the row locked: to be tried again.
    locked: list[Ending] = field(default_factory=list)

    @property
    def ended(self) -> set[Claim]:
        """The claims about which nothing remains to be written."""
        return {ending.claim for ending in [*self.succeeded, *(ending for ending, _ in self.failed), *self.lost]}

    def tell(self) -> None:
        """Log it; to be called when the transaction has committed."""
        events.succeeded(self.succeeded)
        for ending in self.succeeded:
            if ending.failure:
                events.raised_after_completion(ending)
        for ending, status in self.failed:
            events.failed(ending, status)
        for ending in self.lost:
            events.lock_lost(ending.claim, "what it did is not recorded")


def record(queue: Queue, endings: Sequence[Ending]) -> Recorded:
    """Record endings of one tenant, which must be the active one. Joins the caller's transaction."""
    recorded = Recorded()
    good = {id(ending.claim.job): ending for ending in endings if ending.failure is None}
    if good:
        completed = queue.complete_many([(ending.claim.job, ending.result) for ending in good.values()])
        recorded.succeeded = [good[id(job)] for job in completed.recorded]
        recorded.lost = [good[id(job)] for job in completed.lost]
        recorded.locked = [good[id(job)] for job in completed.locked]
    bad = {id(ending.claim.job): ending for ending in endings if ending.failure is not None}
    if bad:
        locked = queue.locked_by_others([ending.claim.job for ending in bad.values()])
        recorded.locked += [bad.pop(id(job)) for job in locked]
    for ending in bad.values():
        if ending.failure is not None:
            _fail(queue, ending, ending.failure, recorded)
    note_lost(queue, [ending.claim for ending in recorded.lost])
    return recorded


def note_lost(queue: Queue, lost: Sequence[Claim]) -> None:
    """Note of those claims that were lost by being cancelled that nothing runs any more: somebody may wait for it."""
    by_worker: defaultdict[str, list[int]] = defaultdict(list)
    for claim in lost:
        by_worker[claim.job.locked_by or ""].append(claim.job.pk)
    for worker, job_ids in by_worker.items():
        note_stopped(queue.using, job_ids, worker)


def _fail(queue: Queue, ending: Ending, failure: Failure, recorded: Recorded) -> None:
    job = ending.claim.job
    try:
        status = queue.fail(job, failure.text, retry=failure.may_retry)
    except LockLost:
        # Its handler may have completed it, and raised or hung afterwards.
        (recorded.succeeded if fence.completed(queue.using, job) else recorded.lost).append(ending)
    else:
        recorded.failed.append((ending, status))
