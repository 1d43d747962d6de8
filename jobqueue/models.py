"""The tables of the queue."""

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.base import ModelState
from django.db.models.functions import Now

from jobqueue.states import FINAL, JobStatus

PRIORITY_MIN, PRIORITY_MAX = -100, 100
NAME_MAX_LENGTH = 100
IDEMPOTENCY_KEY_MAX_LENGTH = 255
CONCURRENCY_KEY_MAX_LENGTH = 255
CONCURRENCY_LIMIT_MAX = 1_000
WORKER_NAME_MAX_LENGTH = 200
MAX_ATTEMPTS_LIMIT = 10_000
TIMETABLE_MAX_LENGTH = 200
TRACEPARENT_MAX_LENGTH = 55
#: A job whose workers died this often in a row runs alone in its process.
RUN_ALONE_AFTER_DEATHS = 2


class ProcessingJob(models.Model):
    """One job: what is to be done, its state, and who holds it. Changed only by ``jobqueue.queue``."""

    id = models.BigAutoField(primary_key=True)
    job_type = models.CharField(max_length=NAME_MAX_LENGTH)
    queue_name = models.CharField(max_length=NAME_MAX_LENGTH, db_default="default")
    payload = models.JSONField(default=dict)
    priority = models.SmallIntegerField(db_default=0, help_text="-100 to 100, higher first")

    status = models.CharField(max_length=20, choices=JobStatus.choices, db_default=JobStatus.PENDING)
    attempts = models.SmallIntegerField(db_default=0)
    max_attempts = models.SmallIntegerField(db_default=5)
    available_at = models.DateTimeField(db_default=Now())

    locked_at = models.DateTimeField(null=True, help_text="taken or last renewed")
    locked_by = models.CharField(max_length=WORKER_NAME_MAX_LENGTH, null=True)  # noqa: DJ001 - NULL: not locked
    # New at each dequeue. Every write about a claim matches it; it stays on the finished row.
    lock_token = models.UUIDField(null=True)
    # The advisory lock by which the holder shows that it lives (jobqueue.sign_of_life). NULL: it promised none.
    holder_key = models.IntegerField(null=True)
    # Its sign of life is missing, or its lock stale though it promised one; NULL: all is well.
    suspected_since = models.DateTimeField(null=True)
    # Attempts in a row that ended with their worker's death. After the first the job is handed out by itself, after the
    # second it also runs by itself, so that a poisonous one doesn't use up its neighbours' attempts.
    worker_deaths = models.SmallIntegerField(db_default=0, help_text="in a row")

    idempotency_key = models.CharField(max_length=IDEMPOTENCY_KEY_MAX_LENGTH, null=True)  # noqa: DJ001 - NULL: none
    # At most concurrency_limit jobs of a key run at once. See jobqueue.rows.concurrency.
    concurrency_key = models.CharField(max_length=CONCURRENCY_KEY_MAX_LENGTH, null=True)  # noqa: DJ001 - NULL: no limit
    concurrency_limit = models.SmallIntegerField(null=True, help_text="so many with this key run at once, at most")
    concurrency_slot = models.SmallIntegerField(null=True, help_text="held while it runs, from 1 to the limit")
    # While it is blocked, available_at lies in the far future: so it costs claims what a job for later does, nothing.
    blocked_due_at = models.DateTimeField(null=True, help_text="since when it is due; NULL: it is not blocked")
    # No foreign key, which would cost each job: see FlowStep.
    flow_step_id = models.BigIntegerField(null=True)
    progress = models.SmallIntegerField(null=True, help_text="percent, as the handler reports it")
    result = models.JSONField(null=True)
    last_error = models.TextField(db_default="")
    history = models.JSONField(db_default=[], help_text="the last attempts, oldest first")
    # The span in which it was enqueued, as W3C's trace context writes it.
    traceparent = models.CharField(max_length=TRACEPARENT_MAX_LENGTH, null=True)  # noqa: DJ001 - NULL: none

    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, help_text="of the latest attempt")
    finished_at = models.DateTimeField(null=True)

    #: Set on what ``Queue.enqueue`` returns: False if the idempotency key was known and this is the job it names.
    created: bool

    class Meta:
        db_table = "processing_jobs"
        verbose_name = "job"
        permissions = [
            ("requeue_processingjob", "Can requeue dead letters"),
            ("discard_processingjob", "Can discard dead letters"),
        ]
        constraints = [
            # Partial, so that a job without a key costs this index nothing.
            models.UniqueConstraint(
                fields=["idempotency_key"],
                name="idempotency_key_is_unique",
                condition=Q(idempotency_key__isnull=False),
            ),
            # The limits rest on this, whatever goes wrong elsewhere.
            models.UniqueConstraint(
                fields=["concurrency_key", "concurrency_slot"],
                name="concurrency_slot_is_held_once",
                condition=Q(concurrency_slot__isnull=False),
            ),
            models.CheckConstraint(
                name="concurrency_key_has_limit",
                condition=Q(concurrency_key__isnull=True, concurrency_limit__isnull=True)
                | Q(concurrency_key__isnull=False, concurrency_limit__isnull=False, concurrency_limit__gte=1),
            ),
            models.CheckConstraint(
                name="concurrency_slot_only_while_processing",
                condition=Q(concurrency_slot__isnull=True)
                | Q(
                    status=JobStatus.PROCESSING,
                    concurrency_slot__gte=1,
                    concurrency_slot__lte=F("concurrency_limit"),
                    concurrency_key__isnull=False,
                ),
            ),
            models.CheckConstraint(
                name="blocked_only_while_pending",
                condition=Q(blocked_due_at__isnull=True) | Q(status=JobStatus.PENDING, concurrency_key__isnull=False),
            ),
            models.CheckConstraint(name="status_is_known", condition=Q(status__in=JobStatus.values)),
            models.CheckConstraint(
                name="processing_iff_locked",
                condition=Q(status=JobStatus.PROCESSING, locked_at__isnull=False, locked_by__isnull=False)
                | (~Q(status=JobStatus.PROCESSING) & Q(locked_at__isnull=True, locked_by__isnull=True)),
            ),
            models.CheckConstraint(
                name="finished_iff_final",
                condition=Q(status__in=FINAL, finished_at__isnull=False)
                | (~Q(status__in=FINAL) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="attempts_within_max",
                condition=Q(attempts__gte=0, max_attempts__gte=1, attempts__lte=F("max_attempts")),
            ),
            models.CheckConstraint(
                name="pending_has_attempts_left",
                condition=~Q(status=JobStatus.PENDING) | Q(attempts__lt=F("max_attempts")),
            ),
            models.CheckConstraint(
                name="priority_in_range",
                condition=Q(priority__gte=PRIORITY_MIN, priority__lte=PRIORITY_MAX),
            ),
        ]
        indexes = [
            # A claim reads each lane (type, queue, priority) from the longest due job on and stops at the present: jobs
            # that are due later, or of another type, cost it nothing. See jobqueue.rows.lanes.
            models.Index(
                fields=["job_type", "queue_name", "priority", "available_at", "id"],
                name="jobs_pending_by_lane",
                condition=Q(status=JobStatus.PENDING),
            ),
            # What the look for dead workers reads: as many rows as jobs are running.
            models.Index(fields=["locked_at"], name="jobs_processing", condition=Q(status=JobStatus.PROCESSING)),
            # The few that must run alone, for a worker that makes room for one.
            models.Index(
                fields=["id"],
                name="jobs_to_be_run_alone",
                condition=Q(status=JobStatus.PENDING, worker_deaths__gte=RUN_ALONE_AFTER_DEATHS),
            ),
            # The due jobs of a key of which no more may run, to be blocked together ...
            models.Index(
                fields=["concurrency_key", "available_at"],
                name="jobs_pending_by_key",
                condition=Q(status=JobStatus.PENDING, concurrency_key__isnull=False),
            ),
            # ... and the first of those that are.
            models.Index(
                fields=["concurrency_key", "job_type", "queue_name", "-priority", "blocked_due_at", "id"],
                name="jobs_blocked",
                condition=Q(blocked_due_at__isnull=False),
            ),
            # The job of a step; a step has one at most.
            models.Index(fields=["flow_step_id"], name="jobs_of_flow_steps", condition=Q(flow_step_id__isnull=False)),
            # For people; the few dead letters are found among millions of finished jobs.
            models.Index(fields=["id"], name="jobs_dead_letters", condition=Q(status=JobStatus.DEAD_LETTER)),
        ]

    def __str__(self) -> str:
        return f"{self.job_type} {self.pk}"

    @property
    def due_at(self) -> datetime:
        """Since when it is due, or when it will be: a blocked one's ``available_at`` lies in the far future."""
        return self.blocked_due_at or self.available_at

    @classmethod
    def of_row(cls, using: str, values: dict[str, Any]) -> "ProcessingJob":
        """Return the object for a row that has these values, which become its own; all else is read when asked for.

        Without signals and checks, in a tenth of the time that ``from_db`` takes: the queue makes thousands a second.
        """
        job = cls.__new__(cls)
        job.__dict__ = values
        job._state = state = ModelState()
        state.adding, state.db = False, using
        return job


class PausedQueue(models.Model):
    """A queue from which nothing is claimed. Written only by ``jobqueue.queue``."""

    queue_name = models.CharField(max_length=NAME_MAX_LENGTH, primary_key=True)
    paused_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = "paused_queues"

    def __str__(self) -> str:
        return self.queue_name


class JobSchedule(models.Model):
    """What is enqueued again and again: declared in code, or made in the admin. See ``jobqueue.schedules``."""

    name = models.CharField(max_length=NAME_MAX_LENGTH, primary_key=True)
    timetable = models.CharField(max_length=TIMETABLE_MAX_LENGTH, help_text="see jobqueue.timetables.parse")
    # What one that was made in the admin enqueues. One that is declared in code has no type here.
    job_type = models.CharField(max_length=NAME_MAX_LENGTH, db_default="", blank=True)
    payload = models.JSONField(db_default={}, default=dict, blank=True)
    queue_name = models.CharField(max_length=NAME_MAX_LENGTH, db_default="default", default="default")
    priority = models.SmallIntegerField(db_default=0, default=0, help_text="-100 to 100, higher first")
    overlap = models.BooleanField(
        db_default=True, default=True, help_text="off: a time is left out while the job of the one before is unfinished"
    )

    paused = models.BooleanField(db_default=False, default=False)
    next_at = models.DateTimeField(null=True, help_text="NULL: paused")
    #: No time up to this one is enqueued any more.
    done_until = models.DateTimeField(db_default=Now())
    last_at = models.DateTimeField(null=True, help_text="the latest time for which a job was enqueued")
    # No foreign key: finished jobs are removed.
    last_job_id = models.BigIntegerField(null=True)
    problem = models.TextField(db_default="", blank=True, help_text="why the latest time could not be enqueued")

    class Meta:
        db_table = "job_schedules"
        verbose_name = "schedule"

    def __str__(self) -> str:
        return self.name


class JobFlow(models.Model):
    """Jobs that wait for each other. Written only by ``jobqueue.rows.flow_steps``."""

    name = models.CharField(max_length=NAME_MAX_LENGTH, db_default="", default="", blank=True)
    idempotency_key = models.CharField(max_length=IDEMPOTENCY_KEY_MAX_LENGTH, null=True)  # noqa: DJ001 - NULL: none
    created_at = models.DateTimeField(db_default=Now())
    cancelled_at = models.DateTimeField(null=True)

    #: Set on what ``Queue.enqueue_flow`` returns: False if the idempotency key was known and this is the flow it names.
    created: bool

    class Meta:
        db_table = "job_flows"
        verbose_name = "flow"
        constraints = [
            models.UniqueConstraint(
                fields=["idempotency_key"],
                name="flow_key_is_unique",
                condition=Q(idempotency_key__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.name or f"flow {self.pk}"


class FlowStep(models.Model):
    """One job of a flow, from before it is enqueued: the jobs table has only what could run."""

    id = models.BigAutoField(primary_key=True)
    flow = models.ForeignKey(JobFlow, on_delete=models.CASCADE, related_name="steps")
    position = models.IntegerField()
    name = models.CharField(max_length=NAME_MAX_LENGTH, db_default="", default="")
    spec = models.JSONField(help_text="see jobqueue.specs.CheckedSpec.as_json")
    waits_for = models.IntegerField(help_text="so many steps must succeed yet before it is enqueued")
    followers = models.JSONField(help_text="the positions of the steps that wait for this one")
    done_at = models.DateTimeField(null=True, help_text="when its job succeeded")

    class Meta:
        db_table = "job_flow_steps"
        verbose_name = "step of a flow"
        constraints = [
            models.UniqueConstraint(fields=["flow", "position"], name="flow_step_has_its_position"),
            models.CheckConstraint(name="flow_step_waits_for_some_or_none", condition=Q(waits_for__gte=0)),
        ]

    def __str__(self) -> str:
        return self.name or f"{self.spec['t']} {self.position}"
