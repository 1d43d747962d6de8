"""How many jobs there are, without reading a large table."""

from dataclasses import dataclass

from django.db import connections
from django.db.models import QuerySet

from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

#: More than this many are not counted on.
LIMIT = 100_000


@dataclass(frozen=True)
class Counts:
    """What is of interest to an operator; each counted up to ``LIMIT``."""

    pending: int
    processing: int
    dead_letter: int
    #: All rows as the planner estimates them: finished jobs are the bulk, and an exact count would read them all.
    about: int


def count_jobs(using: str = "default") -> Counts:
    """Count the jobs of the active schema by their partial indexes."""
    jobs = ProcessingJob.objects.using(using)
    return Counts(
        pending=_up_to_limit(jobs.filter(status=JobStatus.PENDING)),
        processing=_up_to_limit(jobs.filter(status=JobStatus.PROCESSING)),
        dead_letter=_up_to_limit(jobs.filter(status=JobStatus.DEAD_LETTER)),
        about=_estimate(using),
    )


def _up_to_limit(jobs: QuerySet[ProcessingJob]) -> int:
    return jobs.values("pk")[:LIMIT].count()


def _estimate(using: str) -> int:
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = 'processing_jobs'::regclass")
        return max(0, int(cursor.fetchone()[0]))
