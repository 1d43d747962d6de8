"""What waits, read by the index of pending jobs, lane by lane, however many there are."""

from typing import Any

from django.db.models import F, QuerySet

from jobqueue.handlers import registered
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

#: How many types are told apart, and how many jobs of one are counted.
_TYPES, _JOBS = 50, 10_000


def first_pending(jobs: QuerySet[Any], limit: int) -> QuerySet[Any]:
    """Return ``limit`` pending ones of ``jobs``, the first in the index (by type, queue, priority and time), by id."""
    lanes = ("job_type", "queue_name", "priority", "available_at", "pk")
    first = jobs.filter(status=JobStatus.PENDING).order_by(*lanes).values("pk")[:limit]
    # Not by the id as such: the planner would read the primary key from its end until it meets them.
    by_id = F("pk") + 0
    descending = str((jobs.query.order_by or ("-pk",))[0]).startswith("-")
    return jobs.filter(pk__in=first).order_by(by_id.desc() if descending else by_id.asc())


def without_handler(using: str) -> dict[str, int]:
    """Return how many pending jobs there are, up to ``_JOBS``, of each type that this process has no handler for."""
    pending = ProcessingJob.objects.using(using).filter(status=JobStatus.PENDING)
    unknown = [job_type for job_type in _types(pending) if job_type not in registered()]
    return {job_type: pending.filter(job_type=job_type)[:_JOBS].count() for job_type in unknown}


def _types(pending: QuerySet[ProcessingJob]) -> list[str]:
    """Find each type by one probe of the index; DISTINCT would read all that is pending."""
    types: list[str] = []
    in_order = pending.order_by("job_type").values_list("job_type", flat=True)
    while len(types) < _TYPES:
        following = in_order.filter(job_type__gt=types[-1]) if types else in_order
        if (found := following.first()) is None:
            break
        types.append(found)
    return types
