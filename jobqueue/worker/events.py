"""Every line the worker logs, in one place: one line per event, with its facts as fields for programs.

The fields stand in the record: ``event``, and for a job ``tenant``, ``job_id``, ``job_type``, ``attempt`` and
``queue_name``. Payloads, results and the text of errors, which may hold secrets, are never logged.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from jobqueue.conf import JobQueueSettings, conf
from jobqueue.error_text import migration_may_be_due
from jobqueue.signals import worker_started
from jobqueue.worker.executor import Claim, Ending
from jobqueue.worker.service import Service

logger = logging.getLogger("jobqueue.worker")


def started(service: Service) -> None:
    """A worker begins to serve: what, and by which settings."""
    settings = conf()
    line = (
        f"worker {service.name}: {service.concurrency} threads, "
        f"queues: {', '.join(service.queue_names or ['all'])}, tenants: {', '.join(service.only_tenants or ['all'])}, "
        f"types: {', '.join(service.job_types)}; {_looks(settings)}, "
        f"a lock is stale after {_seconds(settings.stale_lock_after)}, "
        f"running jobs have {_seconds(settings.shutdown_grace)} to finish when it stops"
    )
    logger.info("%s", line, extra={"event": "worker started", "worker": service.name})
    if not logger.hasHandlers():
        print(line, flush=True)  # a project without LOGGING would show nothing at all
    worker_started.send(sender=None, service=service)


def stopped(service: Service) -> None:
    """A worker has ended in the orderly way."""
    logger.info("worker %s stopped", service.name, extra={"event": "worker stopped", "worker": service.name})


def recycling(service: Service, why: str, running: int) -> None:
    """A worker's process claims no more and is to be replaced."""
    line = f"worker {service.name} ends to be replaced, since {why}; {running} jobs still run"
    logger.info("%s", line, extra={"event": "worker recycled", "worker": service.name})


def claimed(claim: Claim) -> None:
    """A job was claimed."""
    _about(logging.DEBUG, "claimed", claim)


def succeeded(endings: Sequence[Ending]) -> None:
    """The success of jobs is on record: a line for each."""
    if not endings or not logger.isEnabledFor(logging.INFO):
        return
    # Made once: time, thread and process are those of all, and finding them out is most of what a line costs.
    pattern = logger.makeRecord(logger.name, logging.INFO, __file__, 0, "%s", (), None, "succeeded")
    for ending in endings:
        seconds = ending.seconds
        record = pattern.__class__.__new__(pattern.__class__)
        line = f"succeeded {ending.claim} in {seconds:.3f} s"
        record.__dict__ = {
            **pattern.__dict__,
            **_fields("succeeded", ending.claim),
            "seconds": seconds,
            "args": (line,),
        }
        logger.handle(record)


def failed(ending: Ending, status: str) -> None:
    """A failed attempt is on record, and the job's status with it."""
    kind = ending.failure.kind if ending.failure else ""
    text = f"in {ending.seconds:.3f} s by {kind}, now {status}"
    _about(logging.WARNING, "failed", ending.claim, text, seconds=ending.seconds, error_type=kind, status=status)


def lock_lost(claim: Claim, then: str) -> None:
    """The job is no longer this claim's: another worker has it, or it was cancelled."""
    _about(logging.WARNING, "lock lost", claim, then)


def cancelled(claim: Claim) -> None:
    """The job was cancelled while its handler runs."""
    _about(logging.WARNING, "cancelled", claim, "its handler is being stopped")


def raised_after_completion(ending: Ending) -> None:
    """A handler completed its job by itself, and failed afterwards."""
    kind = ending.failure.kind if ending.failure else ""
    _about(logging.WARNING, "raised after completion", ending.claim, f"by {kind}", error_type=kind)


def left_behind(ending: Ending) -> None:
    """A thread was given up, since its handler's time is over and it doesn't end."""
    then = f"after {ending.seconds:.1f} s; its thread is left behind, another takes its place"
    _about(logging.WARNING, "left behind", ending.claim, then, seconds=ending.seconds)


def recorded_later(tenant: str, count: int, error: Exception) -> None:
    """Endings can't be written for now; said once until it works again."""
    fields = {"event": "recorded later", "tenant": tenant, "jobs": count}
    in_tenant = f" in tenant {tenant}" if tenant else ""
    line = "can't record how %s jobs ended%s, trying on: %s"
    logger.error(line, count, in_tenant, _reason(error), extra=fields)


def not_recorded(claim: Claim, error: Exception) -> None:
    """An ending could not be written for good."""
    then = f"its lock will go stale and the job run again: {_reason(error)}"
    _about(logging.ERROR, "not recorded", claim, then)


def tenant_gone(tenant: str, count: int) -> None:
    """A tenant was deleted while its jobs ran."""
    fields = {"event": "tenant gone", "tenant": tenant, "jobs": count}
    logger.info("tenant %s is gone, and with it %s jobs that ran", tenant, count, extra=fields)


def given_back(claim: Claim) -> None:
    """A job was released because the worker stops."""
    _about(logging.WARNING, "given back", claim, "the worker is stopping")


def left_to_others(tenant: str, count: int) -> None:
    """Jobs that were taken in advance and had not begun were released."""
    fields = {"event": "left to others", "tenant": tenant, "jobs": count}
    in_tenant = f" in tenant {tenant}" if tenant else ""
    logger.info("left %s jobs that had not begun to others%s", count, in_tenant, extra=fields)


def tenant_in_trouble(tenant: str, error: Exception) -> None:
    """A tenant can't be looked into; said once until it works again."""
    fields = {"event": "tenant in trouble", "tenant": tenant}
    logger.error("can't look into tenant %s, the others go on: %s", tenant, _reason(error), extra=fields)


def nobody_can_run(tenant: str, job_type: str, count: int) -> None:
    """Jobs wait of a type that this program knows no handler for; said once."""
    fields = {"event": "nobody can run", "tenant": tenant, "job_type": job_type, "jobs": count}
    in_tenant = f" in tenant {tenant}" if tenant else ""
    then = "this program has no handler for it: is an app missing, or older code running?"
    logger.warning("%s jobs of type %s wait%s; %s", count, job_type, in_tenant, then, extra=fields)


def schedule_left_out(tenant: str, name: str, slot: datetime) -> None:
    """A schedule's time has come while the job of the one before is unfinished, which it doesn't want."""
    fields = {"event": "schedule left out", "tenant": tenant, "schedule": name, "slot": slot.isoformat()}
    line = "schedule %s%s: the job before is unfinished, so that of %s is left out"
    logger.info(line, name, _in(tenant), slot.isoformat(), extra=fields)


def schedule_fails(tenant: str, name: str, slot: datetime, error: Exception) -> None:
    """A schedule's job can't be enqueued. Why is on record with the schedule: it may hold what nobody is to see."""
    kind = type(error).__name__
    fields = {"event": "schedule fails", "tenant": tenant, "schedule": name, "error_type": kind}
    line = "schedule %s%s: the job of %s can't be enqueued (%s); the admin's page of schedules says why"
    logger.error(line, name, _in(tenant), slot.isoformat(), kind, extra=fields)


def schedules_in_trouble(tenant: str, error: Exception) -> None:
    """A tenant's schedules can't be looked after; said once until it works again."""
    fields = {"event": "schedules in trouble", "tenant": tenant}
    logger.error("can't look after schedules%s, trying on: %s", _in(tenant), _reason(error), extra=fields)


def _in(tenant: str) -> str:
    return f" in tenant {tenant}" if tenant else ""


def _reason(error: Exception) -> str:
    text = str(error).strip().split("\n", 1)[0]
    if migration_may_be_due(error):
        text += " (is a migration due? manage.py migrate --check)"
    return text


def _about(level: int, event: str, claim: Claim, then: str = "", **facts: Any) -> None:
    if not logger.isEnabledFor(level):
        return
    logger.log(level, "%s", f"{event} {claim} {then}".rstrip(), extra=_fields(event, claim) | facts)


def _fields(event: str, claim: Claim) -> dict[str, Any]:
    job = claim.job
    return {
        "event": event,
        "tenant": claim.tenant,
        "job_id": job.id,
        "job_type": job.job_type,
        "attempt": job.attempts,
        "queue_name": job.queue_name,
    }


def _looks(settings: JobQueueSettings) -> str:
    polls = f"looks every {_seconds(settings.poll_interval)}"
    listens = settings.listen and settings.sign_of_life_grace is not None
    return f"listens, and {polls} while it hears nothing" if listens else polls


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():g} s"
