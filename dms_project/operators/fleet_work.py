"""What the queue has to do with the life of a tenant: workers hear when it is suspended, its jobs are woken when it is
resumed, and stopped before its end.
"""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, ProgrammingError, transaction
from django.dispatch import receiver

from dms_project.tenancy import TenantNotFound, use
from dms_project.tenancy.exceptions import TenantInUse
from dms_project.tenancy.lifecycle import tenant_ending, tenant_resumed, tenant_suspended
from jobqueue.control.stopping import stop_all
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus
from jobqueue.tenants.waking import wake
from jobqueue.wakeup import tell_tenants_changed_after_commit

#: For so long handlers may take to stop: their workers leave behind those that take longer than ten seconds.
PATIENCE_SECONDS = 15.0
#: So many of those that don't stop are named.
_NAMED = 5


@receiver(tenant_suspended, dispatch_uid="dms_project.operators")
def tell_workers(schema_name: str, **kwargs: Any) -> None:
    """Have workers read who is to be served."""
    tell_tenants_changed_after_commit(DEFAULT_DB_ALIAS)


@receiver(tenant_resumed, dispatch_uid="dms_project.operators")
def wake_jobs(schema_name: str, **kwargs: Any) -> None:
    """Have workers look into the tenant: while it was suspended, its wake-ups were nobody's."""
    wake(schema_name)


@receiver(tenant_ending, dispatch_uid="dms_project.operators")
def stop_jobs(schema_name: str, **kwargs: Any) -> None:
    """Have no job begin any more, and cancel those that run: their workers stop them within about a second."""
    try:
        with use(schema_name):
            _stop_jobs()
    except (TenantNotFound, ProgrammingError):
        pass  # no schema, or not ours: nothing runs there that could be stopped


def _stop_jobs() -> None:
    queue = Queue()
    unfinished = ProcessingJob.objects.filter(status__in=(JobStatus.PENDING, JobStatus.PROCESSING))
    with transaction.atomic():
        for queue_name in unfinished.order_by("queue_name").values_list("queue_name", flat=True).distinct():
            queue.pause(queue_name)
    left = stop_all(queue.using, patience_seconds=PATIENCE_SECONDS)
    if left:
        jobs = ", ".join(f"{job.job_id} ({job.job_type}, on {job.worker})" for job in left[:_NAMED])
        more = f" and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        raise TenantInUse(f"Its jobs were cancelled, and handlers don't stop: {jobs}{more}.")
