"""Reads what decides when a job runs, each by an index or bounded."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from jobqueue.conf import conf
from jobqueue.control.reasons import Circumstances, Reason, why_not_running
from jobqueue.handlers import registered
from jobqueue.models import RUN_ALONE_AFTER_DEATHS, PausedQueue, ProcessingJob
from jobqueue.rows.waiting import count_due_before
from jobqueue.sign_of_life import living_workers
from jobqueue.states import JobStatus
from jobqueue.tenant_source import current_tenant, tenant_source

#: Jobs that come first are counted so far.
AHEAD = 1_000


def reasons(job: ProcessingJob) -> list[Reason]:
    """Say why the job, of the active tenant, is not running."""
    return why_not_running(circumstances(job))


def circumstances(job: ProcessingJob) -> Circumstances:
    """Look at what surrounds the job. Of a job that is neither pending nor running, nothing else matters."""
    using = job._state.db or "default"
    known: dict[str, Any] = {name: getattr(job, name) for name in ("job_type", "queue_name", "status", "locked_by")}
    known["available_at"] = job.due_at
    jobs = ProcessingJob.objects.using(using)
    now = jobs.filter(pk=job.pk).values_list(Now(), flat=True).first() or job.available_at
    if job.status not in (JobStatus.PENDING, JobStatus.PROCESSING):
        return Circumstances(now, **known)
    promised = conf().sign_of_life_grace is not None
    living = living_workers(using) if promised else None
    if job.status == JobStatus.PROCESSING:
        holder_is_gone = living is not None and job.holder_key is not None and job.holder_key not in living
        return Circumstances(now, **known, holder_is_gone=holder_is_gone)
    paused = PausedQueue.objects.using(using).filter(queue_name=job.queue_name).first()
    return Circumstances(
        now,
        **known,
        has_handler=job.job_type in registered(),
        paused_since=paused.paused_at if paused else None,
        tenant_is_served=_is_served(),
        living_workers=None if living is None else len(living),
        ahead=0 if job.blocked_due_at else count_due_before(using, job, [*registered()], AHEAD),
        ahead_limit=AHEAD,
        running_in_queue=jobs.filter(status=JobStatus.PROCESSING, queue_name=job.queue_name)[:1].count(),
        concurrency_key=job.concurrency_key,
        concurrency_limit=job.concurrency_limit or 1,
        key_holders=_key_holders(jobs, job) if job.concurrency_key else (),
        runs_alone=job.worker_deaths >= RUN_ALONE_AFTER_DEATHS,
    )


def _key_holders(jobs: QuerySet[ProcessingJob], job: ProcessingJob) -> list[tuple[int, str]]:
    held = jobs.filter(concurrency_key=job.concurrency_key, concurrency_slot__isnull=False)
    rows = held.order_by("concurrency_slot").values_list("pk", "locked_by")[: job.concurrency_limit]
    return [(pk, worker or "?") for pk, worker in rows]


def _is_served() -> bool:
    """Return whether the active tenant is among those that workers look into."""
    tenant = current_tenant()
    return not tenant or tenant in tenant_source().names()
