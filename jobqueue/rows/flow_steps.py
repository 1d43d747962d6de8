"""The rows of flows: what waits, and what happens to it when a step's job has succeeded."""

import json
from collections.abc import Collection, Sequence
from typing import Any

from django.db import connections, transaction
from django.db.models.functions import Coalesce, Now

from jobqueue.exceptions import FlowNotFound
from jobqueue.flows import Plan
from jobqueue.models import FlowStep, JobFlow, ProcessingJob
from jobqueue.rows.inserts import insert_steps
from jobqueue.states import FINAL
from jobqueue.wakeup import wake_after_commit

# Why SQL: an ORM update counts no elements of another row's JSON. Whoever records successes locks what follows them
# first, all of it in one order: so of two transactions that record the last two members of a group one waits for the
# other's commit, and then sees its own member as the last; and none waits for one that waits for it.
_LOCK = """
SELECT step.id FROM job_flow_steps AS step
WHERE (step.flow_id, step.position) IN (
    SELECT flow_id, position FROM job_flow_steps WHERE id = ANY (%(steps)s)
  UNION ALL
    SELECT flow_id, follower::integer
    FROM job_flow_steps CROSS JOIN LATERAL jsonb_array_elements_text(followers) AS follower
    WHERE id = ANY (%(steps)s)
)
ORDER BY step.id FOR UPDATE
"""
# A statement of its own, so that its snapshot is younger than the locks.
_ADVANCE = """
WITH done AS (
    UPDATE job_flow_steps SET done_at = statement_timestamp()
    WHERE id = ANY (%(steps)s) AND done_at IS NULL
    RETURNING flow_id, followers
), arrivals AS (
    SELECT flow_id, follower::integer AS position, count(*) AS number
    FROM done CROSS JOIN LATERAL jsonb_array_elements_text(followers) AS follower
    GROUP BY flow_id, follower
)
UPDATE job_flow_steps AS step SET waits_for = waits_for - arrivals.number
FROM arrivals JOIN job_flows AS flow ON flow.id = arrivals.flow_id
WHERE step.flow_id = arrivals.flow_id AND step.position = arrivals.position
RETURNING step.id, step.spec::text, step.waits_for = 0 AND flow.cancelled_at IS NULL
"""
_RESULTS = """
SELECT job.result FROM job_flow_steps AS step
JOIN job_flow_steps AS before ON before.flow_id = step.flow_id AND before.followers @> to_jsonb(step.position)
LEFT JOIN processing_jobs AS job ON job.flow_step_id = before.id
WHERE step.id = %s ORDER BY before.position
"""


def start(using: str, plan: Plan, name: str, key: str | None) -> JobFlow:
    """Store a plan and enqueue its first jobs, or find the flow that has this key; ``created`` says which."""
    specs = plan.checked()
    with transaction.atomic(using):
        flows = JobFlow.objects.using(using)
        if key is None:
            flow, created = flows.create(name=name), True
        else:
            flow, created = flows.get_or_create(idempotency_key=key, defaults={"name": name})
        flow.created = created
        if not created:
            return flow
        followers: list[list[int]] = [[] for _ in plan.steps]
        for position, step in enumerate(plan.steps):
            for before in step.after:
                followers[before].append(position)
        steps = FlowStep.objects.using(using).bulk_create(
            FlowStep(
                flow=flow,
                position=position,
                name=step.name,
                spec=json.loads(specs[position].as_json()),
                waits_for=len(step.after),
                followers=followers[position],
            )
            for position, step in enumerate(plan.steps)
        )
        insert_steps(using, [(row.pk, specs[row.position].as_json()) for row in steps if not row.waits_for])
    wake_after_commit(using)
    return flow


def advance(using: str, steps: Collection[int]) -> None:
    """Note that the jobs of these steps have succeeded, in the same transaction, and enqueue what need wait no more.

    Three statements at most, however many they are.
    """
    with connections[using].cursor() as cursor:
        cursor.execute(_LOCK, {"steps": list(steps)})
        cursor.execute(_ADVANCE, {"steps": list(steps)})
        ready = [(pk, spec) for pk, spec, may_begin in cursor.fetchall() if may_begin]
    if ready:
        insert_steps(using, sorted(ready))
        wake_after_commit(using)


def stop(using: str, flow_id: int) -> Sequence[int]:
    """Let no step of a flow begin any more, and return the ids of its jobs that have not ended.

    Raises:
        FlowNotFound: There is no such flow.
    """
    # Waits for whoever is just recording a success, and keeps others from it: their steps see that it is cancelled.
    steps = FlowStep.objects.using(using).filter(flow=flow_id)
    list(steps.select_for_update().order_by("pk").values_list("pk"))
    if not JobFlow.objects.using(using).filter(pk=flow_id).update(cancelled_at=Coalesce("cancelled_at", Now())):
        raise FlowNotFound(f"There is no flow {flow_id}.")
    jobs = ProcessingJob.objects.using(using).filter(flow_step_id__in=steps.values("pk"))
    return list(jobs.exclude(status__in=FINAL).order_by("pk").values_list("pk", flat=True))


def results_before(using: str, step: int) -> Sequence[Any]:
    """Return what the jobs returned that a step waited for, in the order of the plan; None if one is gone."""
    with connections[using].cursor() as cursor:
        cursor.execute(_RESULTS, [step])
        return [None if result is None else json.loads(result) for (result,) in cursor.fetchall()]
