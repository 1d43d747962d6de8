"""Letting many dead letters run again slowly: one, then ever more at a time, and no further once one fails again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic, sleep

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus

#: Never more than so many are under way at once.
MOST_AT_ONCE = 100
_LOOK_SECONDS = 0.5


@dataclass
class Requeued:
    """How far it has come."""

    requeued: int = 0
    succeeded: int = 0
    #: Those that were tried again and failed.
    failed: list[int] = field(default_factory=list)
    #: Those that somebody else decided about meanwhile.
    left_alone: int = 0
    #: Nothing happened to what was requeued for as long as patience lasts.
    stuck: bool = False


def requeue_slowly(using: str, ids: Sequence[int], *, patience: timedelta) -> Iterator[Requeued]:
    """Requeue dead letters of the active tenant, and yield how far it has come at each look; it is done at the end.

    Stops when one has failed again: the rest stay dead letters. Needs workers, and no transaction around it.

    Args:
        using: The database's alias.
        ids: Of the dead letters, in the order in which they are to be tried.
        patience: How long nothing may run before it gives up, with those under way left pending.
    """
    so_far = Requeued()
    rest, at_once = list(ids), 1
    while rest and not so_far.failed and not so_far.stuck:
        batch, rest = rest[:at_once], rest[at_once:]
        decided = Queue(using).requeue_dead_letters(batch)
        so_far.requeued += len(decided.done)
        so_far.left_alone += len(decided.refused)
        yield from _watch(using, decided.done, so_far, patience)
        at_once = min(at_once * 2, MOST_AT_ONCE)
    yield so_far


def _watch(using: str, ids: Sequence[int], so_far: Requeued, patience: timedelta) -> Iterator[Requeued]:
    """Wait until each of them has been tried, and add up how that ended."""
    succeeded_before = so_far.succeeded
    quiet_since, seen = monotonic(), Counter[str]()
    while True:
        rows = ProcessingJob.objects.using(using).filter(pk__in=ids).values_list("pk", "status", "attempts")
        states = {pk: _state(status, attempts) for pk, status, attempts in rows}
        counts = Counter(states.values())
        so_far.succeeded = succeeded_before + counts["succeeded"]
        so_far.failed = sorted(pk for pk, state in states.items() if state == "failed again")
        if not counts["under way"] + counts["waits"]:
            return
        if counts != seen or counts["under way"]:
            quiet_since, seen = monotonic(), counts
        elif monotonic() - quiet_since > patience.total_seconds():
            so_far.stuck = True
            return
        yield so_far
        sleep(_LOOK_SECONDS)


def _state(status: str, attempts: int) -> str:
    """Requeued jobs begin with no attempts, and one that is given back unharmed has none again."""
    if status == JobStatus.PROCESSING:
        return "under way"
    if status == JobStatus.PENDING:
        return "failed again" if attempts else "waits"
    return "failed again" if status == JobStatus.DEAD_LETTER else status
