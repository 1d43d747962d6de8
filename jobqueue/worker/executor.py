"""Run one claimed job and say how it ended. No loop, no signals, and no statement about the job's state."""

import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from jobqueue import handlers, tracing
from jobqueue.error_text import describe
from jobqueue.exceptions import DeadLetter
from jobqueue.handlers import HandlerFunction, JobContext
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.running_job import running_job
from jobqueue.tenant_source import TenantSource


@dataclass(eq=False, slots=True)
class Claim:
    """A job that this worker holds, and the tenant whose job it is. Two claims of one job are not equal."""

    tenant: str
    job: ProcessingJob
    #: Set when the job was cancelled or given to another worker: it need not begin.
    lost: bool = False
    #: Until then the lock is young enough that nobody else can have the job for its age; by the monotonic clock.
    sure_until: float = float("inf")

    def __str__(self) -> str:
        tenant = f" tenant={self.tenant}" if self.tenant else ""
        return f"job={self.job.id} type={self.job.job_type} attempt={self.job.attempts}{tenant}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed, in a form that outlives the exception and passes between processes."""

    #: The exception's class, for the log.
    kind: str
    #: What the job's row tells.
    text: str
    #: Whether another attempt can help.
    may_retry: bool = True

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        """Describe an exception with its traceback. Never raises."""
        return cls(type(error).__name__, describe(error), not isinstance(error, DeadLetter))


@dataclass(eq=False, slots=True)
class Ending:
    """How an attempt ended: with a result, or with a failure."""

    claim: Claim
    seconds: float
    result: Any = None
    failure: Failure | None = None


#: Calls the handler with its context, and may watch over it meanwhile.
Caller = Callable[[HandlerFunction, JobContext], Any]


def execute(claim: Claim, queue: Queue, tenants: TenantSource, call: Caller) -> Ending:
    """Call the job's handler in its tenant. Returns whatever happens; only the death of the process gets out.

    The handler runs in a context of its own, so that no context variable that it sets (a tenant, a language, a time
    zone) reaches the next job.
    """
    started = time.monotonic()
    try:
        result = copy_context().run(_call, claim, queue, tenants, call)
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of a handler are its failures
        return Ending(claim, time.monotonic() - started, failure=Failure.of(error))
    return Ending(claim, time.monotonic() - started, result=result)


def traced(claim: Claim, run: Callable[[], Ending]) -> Ending:
    """Run an attempt inside its span, if there are spans."""
    if not tracing.is_on():
        return run()
    with tracing.processing(claim.job, claim.tenant) as attempt:
        ending = run()
        if ending.failure:
            attempt.failed(ending.failure.kind)
    return ending


def _call(claim: Claim, queue: Queue, tenants: TenantSource, call: Caller) -> Any:
    handler = handlers.registered().get(claim.job.job_type)
    if handler is None:
        raise LookupError(f"This worker has no handler for {claim.job.job_type!r}.")
    running_job.set(claim.job)  # in a context of its own
    with tenants.use(claim.tenant):
        return call(handler.function, JobContext(claim.job, queue))
