"""Let time pass in a test, without waiting: what is due later becomes due, and what is old becomes older.

PostgreSQL's clock can't be set. So all that the queue has written down is moved into the past instead, by the same
duration, and lies as far back as if so much time had passed.
"""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, JSONField
from django.db.models.expressions import RawSQL

from jobqueue.models import FlowStep, JobFlow, PausedQueue, ProcessingJob
from jobqueue.queue import Queue
from jobqueue.schedules import declared_in
from jobqueue.tenant_source import current_tenant
from jobqueue.worker.scheduled_jobs import database_time, enqueue_due

_TIMES = ("available_at", "locked_at", "suspected_since", "created_at", "started_at", "finished_at")
_HISTORY = """(
    SELECT coalesce(jsonb_agg(entry || jsonb_build_object(
        'started_at', (entry ->> 'started_at')::timestamptz - %s, 'ended_at', (entry ->> 'ended_at')::timestamptz - %s
    ) || jsonb_strip_nulls(jsonb_build_object(
        'stopped_at', (entry ->> 'stopped_at')::timestamptz - %s
    )) ORDER BY position), '[]')
    FROM jsonb_array_elements(history) WITH ORDINALITY AS attempt (entry, position)
)"""


def let_pass(duration: timedelta, *, using: str = "default") -> None:
    """Let time pass for the jobs of the active tenant: waiting ones become due, and locks that nobody renews stale.

    Moves back every time of every job, those of its attempts and its flow too, and since when queues are paused. Not
    moved are schedules, for which there is ``QueueClock``; your own tables; and Python's clock.

    Args:
        duration: More than zero.
        using: Alias of the database.

    Raises:
        ValueError: The duration isn't more than zero.
    """
    if duration <= timedelta(0):
        raise ValueError(f"Time passes forwards: {duration!r} is not more than zero.")
    history = RawSQL(_HISTORY, [duration] * 3, output_field=JSONField())  # noqa: S611 - a constant
    with transaction.atomic(using):
        ProcessingJob.objects.using(using).update(history=history, **{name: F(name) - duration for name in _TIMES})
        PausedQueue.objects.using(using).update(paused_at=F("paused_at") - duration)
        flow_times = {name: F(name) - duration for name in ("created_at", "cancelled_at")}
        JobFlow.objects.using(using).update(**flow_times)
        FlowStep.objects.using(using).update(done_at=F("done_at") - duration)


class QueueClock:
    """The time as the active tenant's jobs and schedules see it, as if a worker had started with this clock.

    Args:
        using: Alias of the database.
    """

    def __init__(self, using: str = "default") -> None:
        self._queue = Queue(using)
        self._ahead = timedelta(0)
        self._enqueue_due()

    @property
    def now(self) -> datetime:
        """The database's time and all that was let pass."""
        return database_time(self._queue.using) + self._ahead

    def advance(self, duration: timedelta) -> list[int]:
        """Let time pass for jobs, by ``let_pass``, and let a worker look once into the schedules of code and admin.

        A time that lies in between has its job; of several of one schedule the latest, as after an outage.

        Args:
            duration: More than zero.

        Returns:
            The ids of the jobs that schedules have enqueued; ``run_jobs`` runs them.

        Raises:
            ValueError: The duration isn't more than zero.
        """
        let_pass(duration, using=self._queue.using)
        self._ahead += duration
        return self._enqueue_due()

    def _enqueue_due(self) -> list[int]:
        return enqueue_due(self._queue, declared_in(current_tenant()), self.now)
