"""Recording the success of many jobs at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jobqueue import fence
from jobqueue.fence import Fate
from jobqueue.json_values import storable_result_json
from jobqueue.models import ProcessingJob
from jobqueue.statements import complete_jobs


@dataclass(frozen=True)
class Completed:
    """What became of a batch; each job of it is in one of the three."""

    #: On record as succeeded, by this call or one whose answer was lost.
    recorded: list[ProcessingJob]
    #: No longer held by the claim; nothing was changed.
    lost: list[ProcessingJob]
    #: Still held, but another transaction had the row locked: to be tried again.
    locked: list[ProcessingJob]


def complete_many(using: str, endings: Sequence[tuple[ProcessingJob, Any]]) -> Completed:
    """Record that each job succeeded with its result. Joins the caller's transaction."""
    rows = [
        (job.pk, job.lock_token, storable_result_json(result)) for job, result in endings if job.lock_token is not None
    ]
    done = complete_jobs(using, rows) if rows else set()
    completed = Completed([], [], [])
    others: list[ProcessingJob] = []
    for job, _ in endings:
        (completed.recorded if (job.pk, job.lock_token) in done else others).append(job)
    if others:
        for job, fate in zip(others, fence.fates(using, others), strict=True):
            if fate is Fate.COMPLETED:
                completed.recorded.append(job)
            else:
                (completed.locked if fate is Fate.HELD else completed.lost).append(job)
    return completed
