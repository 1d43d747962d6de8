"""Insert jobs, or find those whose idempotency keys exist, without ever breaking the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jobqueue.exceptions import InvalidJob, JobQueueError
from jobqueue.models import ProcessingJob
from jobqueue.rows.inserts import insert_jobs
from jobqueue.rows.known_keys import answer
from jobqueue.specs import CheckedSpec
from jobqueue.states import JobStatus
from jobqueue.wakeup import wake_after_commit

# A key can be found taken and then be gone (its job was pruned in between); each round then starts afresh.
_ROUNDS = 10


def insert_or_find(using: str, specs: Sequence[CheckedSpec]) -> list[ProcessingJob]:
    """Return one job per spec, in order, each with ``created`` set. Two statements, or one if all are new.

    What asks for more of a known key than its job costs a statement or two for each.

    Raises:
        InvalidJob: A key belongs to a job of another type. Jobs inserted before are left to the caller's rollback.
        KeyTaken: A key is known whose spec asked for this; the same holds.
    """
    jobs: list[ProcessingJob | None] = [None] * len(specs)
    by_key: dict[str, ProcessingJob] = {}
    for _ in range(_ROUNDS):
        missing = _first_of_each_key(specs, [position for position, job in enumerate(jobs) if job is None])
        if not missing:
            found = [job for job in jobs if job is not None]
            if any(job.created for job in found):
                wake_after_commit(using)
            return found
        for position, job in _insert(using, specs, missing):
            jobs[position] = job
            if job.idempotency_key is not None:
                by_key[job.idempotency_key] = job
        by_key |= _find(using, specs, [position for position in missing if jobs[position] is None])
        for position, checked in enumerate(specs):
            key = checked.spec.idempotency_key
            if jobs[position] is None and key in by_key:
                jobs[position] = answer(using, _same_type(by_key[key], checked), checked)
                if jobs[position] is None:
                    del by_key[key]
    raise JobQueueError("An idempotency key was taken and freed again and again by others; try once more.")


def _first_of_each_key(specs: Sequence[CheckedSpec], positions: Sequence[int]) -> list[int]:
    first: dict[str | int, int] = {}
    for position in positions:
        first.setdefault(specs[position].spec.idempotency_key or position, position)
    return list(first.values())


def _insert(using: str, specs: Sequence[CheckedSpec], positions: Sequence[int]) -> list[tuple[int, ProcessingJob]]:
    inserted = insert_jobs(using, [specs[position] for position in positions])
    keyed = {key: pk for pk, key in inserted.rows if key is not None}
    # Rows without a key can't conflict: they come back in the order they were given.
    keyless = (pk for pk, key in inserted.rows if key is None)
    jobs = []
    for position in positions:
        key = specs[position].spec.idempotency_key
        pk = next(keyless) if key is None else keyed.get(key)
        if pk is not None:
            jobs.append((position, _job(using, specs[position], pk, inserted.now)))
    return jobs


_NEW: dict[str, Any] = dict.fromkeys(field.attname for field in ProcessingJob._meta.concrete_fields)
del _NEW["traceparent"]  # read from the row if somebody asks
_NEW |= {"status": JobStatus.PENDING.value, "attempts": 0, "worker_deaths": 0, "last_error": "", "created": True}


def _job(using: str, checked: CheckedSpec, pk: int, now: datetime) -> ProcessingJob:
    spec = checked.spec
    values = _NEW | {
        "id": pk,
        "job_type": spec.job_type,
        "queue_name": spec.queue_name,
        "payload": spec.payload,
        "priority": spec.priority,
        "max_attempts": checked.max_attempts,
        "available_at": checked.available_at or now,
        "idempotency_key": spec.idempotency_key,
        "concurrency_key": spec.concurrency_key,
        "concurrency_limit": None if spec.concurrency_key is None else spec.concurrency_limit,
        "history": [],
        "created_at": now,
    }
    return ProcessingJob.of_row(using, values)


def _find(using: str, specs: Sequence[CheckedSpec], positions: Sequence[int]) -> dict[str, ProcessingJob]:
    keys = [key for position in positions if (key := specs[position].spec.idempotency_key)]
    if not keys:
        return {}
    found = {}
    for job in ProcessingJob.objects.using(using).filter(idempotency_key__in=keys):
        job.created = False
        found[str(job.idempotency_key)] = job
    return found


def _same_type(job: ProcessingJob, checked: CheckedSpec) -> ProcessingJob:
    if job.job_type != checked.spec.job_type:
        raise InvalidJob(
            f"The idempotency key {checked.spec.idempotency_key!r} belongs to job {job.pk} of type "
            f"{job.job_type!r}, not {checked.spec.job_type!r}."
        )
    return job
