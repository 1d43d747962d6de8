"""Run one claimed job and say how it ended. No loop, no signals, and no statement about the job's state."""

import time
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from jobqueue import handlers
from jobqueue.exceptions import DeadLetter
from jobqueue.handlers import JobContext
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource


@dataclass(eq=False, slots=True)
class Claim:
    """A job that this worker holds, and the tenant whose job it is. Two claims of one job are not equal."""

    tenant: str
    job: ProcessingJob

    def __str__(self) -> str:
        tenant = f" tenant={self.tenant}" if self.tenant else ""
        return f"job={self.job.pk} type={self.job.job_type} attempt={self.job.attempts}{tenant}"


@dataclass(eq=False, slots=True)
class Ending:
    """How an attempt ended: with a result, or with an error."""

    claim: Claim
    seconds: float
    result: Any = None
    error: BaseException | None = None

    @property
    def may_retry(self) -> bool:
        """Whether another attempt can help."""
        return not isinstance(self.error, DeadLetter)


def execute(claim: Claim, queue: Queue, tenants: TenantSource) -> Ending:
    """Call the job's handler in its tenant. Returns whatever happens; only the death of the process gets out.

    The handler runs in a context of its own, so that no context variable that it sets (a tenant, a language, a time
    zone) reaches the next job.
    """
    started = time.monotonic()
    try:
        result = copy_context().run(_call, claim, queue, tenants)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of a handler are its failures
        return Ending(claim, time.monotonic() - started, error=error)
    return Ending(claim, time.monotonic() - started, result=result)


def _call(claim: Claim, queue: Queue, tenants: TenantSource) -> Any:
    handler = handlers.registered().get(claim.job.job_type)
    if handler is None:
        raise LookupError(f"This worker has no handler for {claim.job.job_type!r}.")
    with tenants.use(claim.tenant):
        return handler.function(JobContext(claim.job, queue))
