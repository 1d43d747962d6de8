"""Recording the success of many jobs at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from jobqueue.json_values import storable_result_json
from jobqueue.models import ProcessingJob
from jobqueue.rows import fence, flow_steps
from jobqueue.rows.fence import Fate
from jobqueue.rows.statements import complete_jobs


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
    tokens: dict[UUID | None, str] = {}  # a batch has few, and writing one out takes a microsecond
    named = []
    for job, result in endings:
        token = job.lock_token
        if token not in tokens:
            tokens[token] = str(token)
        named.append((f"{job.id} {tokens[token]}", job, result))
    if not named:
        return Completed([], [], [])
    done = complete_jobs(using, [(name, storable_result_json(result)) for name, job, result in named if job.lock_token])
    completed = Completed([job for name, job, _ in named if name in done], [], [])
    if steps := [job.flow_step_id for job in completed.recorded if job.flow_step_id is not None]:
        flow_steps.advance(using, steps)
    others = [job for name, job, _ in named if name not in done]
    if others:
        for job, fate in zip(others, fence.fates(using, others), strict=True):
            if fate is Fate.COMPLETED:
                completed.recorded.append(job)
            else:
                (completed.locked if fate is Fate.HELD else completed.lost).append(job)
    return completed
