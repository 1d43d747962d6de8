"""Recording the success of many jobs at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connections

from jobqueue.json_values import storable_result_json
from jobqueue.models import ProcessingJob
from jobqueue.rows import fence, flow_steps
from jobqueue.rows.fence import Fate
from jobqueue.rows.history import ADD_ATTEMPT

# Why SQL: each row gets a result of its own, and the fence is a pair of columns. The rows are locked first, in id order
# against deadlocks, and a locked one is left out: its handler's transaction may hold it, or somebody who cancels it.
# No join: the planner expects one running job, and would compare each of hundreds with each. So the claims and results
# come as one jsonb object, in which each row looks its own up, and the ids as an array whose length it can't see, for
# which it takes the primary key. "Processing" is said by locked_at (constraint processing_iff_locked), or it might take
# the index of running jobs, which an old snapshot fills with dead entries.
_CLAIM_NAME = "id || ' ' || lock_token"
_COMPLETE = f"""
WITH given AS MATERIALIZED (SELECT %s::jsonb AS results),
free AS MATERIALIZED (
    SELECT id FROM processing_jobs
    WHERE id = ANY (ARRAY(SELECT split_part(name, ' ', 1)::bigint FROM given, jsonb_object_keys(results) AS name))
      AND locked_at IS NOT NULL AND (SELECT results FROM given) ? ({_CLAIM_NAME})
    ORDER BY id FOR UPDATE SKIP LOCKED
)
UPDATE processing_jobs
SET status = 'succeeded', finished_at = statement_timestamp(), progress = 100, worker_deaths = 0,
    result = nullif((SELECT results FROM given) -> ({_CLAIM_NAME}), 'null'),
    locked_at = NULL, locked_by = NULL, holder_key = NULL, suspected_since = NULL, concurrency_slot = NULL,
    history = {ADD_ATTEMPT % ("'succeeded'", "''")}
WHERE id = ANY (ARRAY(SELECT id FROM free))
RETURNING {_CLAIM_NAME}
"""  # noqa: S608 - made of constants


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
    done = _complete(using, [(name, storable_result_json(result)) for name, job, result in named if job.lock_token])
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


def _complete(using: str, results: Iterable[tuple[str, str | None]]) -> set[str]:
    """Record success for claims, each named by id and token with a space between, with its result as JSON.

    Returns:
        The names of those whose row was changed.
    """
    pairs = ",".join([f'"{name}":{result or "null"}' for name, result in results])
    with connections[using].cursor() as cursor:
        cursor.execute(_COMPLETE, [f"{{{pairs}}}"])
        return {name for (name,) in cursor.fetchall()}
