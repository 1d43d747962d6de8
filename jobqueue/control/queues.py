"""The queues that have something to do, or are paused."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from jobqueue.models import PausedQueue, ProcessingJob
from jobqueue.rows.waiting import read_lanes
from jobqueue.states import JobStatus

#: Jobs of a lane are counted so far.
LANE_LIMIT = 10_000


@dataclass
class QueueState:
    """A queue at this moment."""

    name: str
    pending: int = 0
    #: Whether more are pending.
    cut: bool = False
    #: Since when the job is due that has been due for longest; None: none is.
    oldest_due: datetime | None = None
    running: int = 0
    paused_since: datetime | None = None


def queue_states(using: str) -> list[QueueState]:
    """Return the queues in which jobs wait or run, and the paused ones, by name."""
    states: dict[str, QueueState] = {}

    def state(name: str) -> QueueState:
        return states.setdefault(name, QueueState(name))

    for name, pending, oldest_due in read_lanes(using, LANE_LIMIT):
        queue = state(name)
        queue.pending += pending
        queue.cut |= pending >= LANE_LIMIT
        queue.oldest_due = min(filter(None, (queue.oldest_due, oldest_due)), default=None)
    running = ProcessingJob.objects.using(using).filter(status=JobStatus.PROCESSING)
    for name, jobs in running.values_list("queue_name").annotate(Count("pk")).order_by():
        state(name).running = jobs
    for paused in PausedQueue.objects.using(using).all():
        state(paused.queue_name).paused_since = paused.paused_at
    return [states[name] for name in sorted(states)]
