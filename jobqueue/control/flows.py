"""Flows as people see them: what is done, what runs, and what waits for what."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models.fields.json import KeyTextTransform

from jobqueue.exceptions import FlowNotFound
from jobqueue.models import FlowStep, JobFlow, ProcessingJob
from jobqueue.states import JobStatus

#: So many of the newest are listed.
NEWEST = 50
#: What a step can be beside the states of its job.
WAITING, CANCELLED, REMOVED = "waiting", "cancelled", "removed"


@dataclass(frozen=True)
class StepState:
    """A step at this moment."""

    position: int
    name: str
    job_type: str
    #: That of its job; ``waiting`` or ``cancelled`` if it has none yet; ``removed`` if it had one that didn't succeed.
    state: str
    job_id: int | None
    #: The positions of the steps that must succeed before it is enqueued, and haven't.
    waits_for: list[int]


@dataclass(frozen=True)
class FlowState:
    """A flow at this moment."""

    id: int
    name: str
    #: ``succeeded``, ``running``, ``dead_letter`` if a step waits for a person, ``stopped`` if one never will succeed,
    #: ``cancelled``.
    state: str
    created_at: datetime
    steps: list[StepState]

    @property
    def done(self) -> int:
        """How many steps have succeeded."""
        return sum(step.state == JobStatus.SUCCEEDED for step in self.steps)


def flow_state(using: str, flow_id: int) -> FlowState:
    """Return a flow with all its steps.

    Raises:
        FlowNotFound: There is no such flow.
    """
    flow = JobFlow.objects.using(using).filter(pk=flow_id).first()
    if flow is None:
        raise FlowNotFound(f"There is no flow {flow_id}.")
    return _state(using, flow)


def newest_flows(using: str) -> Iterator[FlowState]:
    """Yield the newest flows, each with all its steps."""
    for flow in JobFlow.objects.using(using).order_by("-pk")[:NEWEST]:
        yield _state(using, flow)


def _state(using: str, flow: JobFlow) -> FlowState:
    # Without their specs, whose payloads may be large.
    steps_of = FlowStep.objects.using(using).filter(flow=flow).order_by("position").defer("spec")
    rows = list(steps_of.annotate(job_type=KeyTextTransform("t", "spec")))
    jobs = ProcessingJob.objects.using(using).filter(flow_step_id__in=[row.pk for row in rows])
    job_of = {step: (pk, status) for step, pk, status in jobs.values_list("flow_step_id", "pk", "status")}
    waits_for: dict[int, list[int]] = {row.position: [] for row in rows}
    for row in rows:
        for follower in () if row.done_at else row.followers:
            waits_for[follower].append(row.position)
    steps = [
        StepState(
            row.position,
            row.name,
            row.job_type,
            _state_of(row, flow, job_of),
            job_of.get(row.pk, (None,))[0],
            waits_for[row.position],
        )
        for row in rows
    ]
    return FlowState(flow.pk, flow.name, _whole(flow, {step.state for step in steps}), flow.created_at, steps)


def _state_of(step: FlowStep, flow: JobFlow, job_of: Mapping[int | None, tuple[int, str]]) -> str:
    if step.done_at:
        return JobStatus.SUCCEEDED.value
    if step.pk in job_of:
        return job_of[step.pk][1]
    if flow.cancelled_at:
        return CANCELLED
    return WAITING if step.waits_for else REMOVED


def _whole(flow: JobFlow, states: set[str]) -> str:
    if flow.cancelled_at:
        return CANCELLED
    if states <= {JobStatus.SUCCEEDED.value}:
        return JobStatus.SUCCEEDED.value
    if states & {JobStatus.FAILED.value, REMOVED}:
        return "stopped"
    return JobStatus.DEAD_LETTER.value if JobStatus.DEAD_LETTER.value in states else "running"
