"""How many jobs there are, without reading a large table."""

from dataclasses import dataclass
from datetime import datetime

from jobqueue.models import ProcessingJob
from jobqueue.rows.statements import read_counts

#: More than this many are not counted on.
LIMIT = 100_000


@dataclass(frozen=True)
class Counts:
    """What is of interest to an operator, each counted up to ``LIMIT``."""

    pending: int
    processing: int
    dead_letter: int
    #: Since when the pending job that is due for longest is due; None if none is.
    oldest_due: datetime | None
    #: All rows as the planner estimates them: finished jobs are the bulk, and an exact count would read them all.
    about: int


def count_jobs(using: str = "default") -> Counts:
    """Count the jobs of the active schema, by their partial indexes, in one statement."""
    return Counts(*read_counts(using, LIMIT))


#: Up to so many rows a table is counted exactly; the planner's estimate of a small one may be far out.
_SMALL = 10_000


def count_all(using: str, counts: Counts) -> tuple[int, bool]:
    """Return how many jobs there are in all, and whether that is exact."""
    if counts.about > _SMALL:
        return counts.about, False
    counted = ProcessingJob.objects.using(using).values("pk")[: _SMALL + 1].count()
    return counted, counted <= _SMALL
