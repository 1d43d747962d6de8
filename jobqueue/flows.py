"""Jobs that wait for others: chains, groups with a join, and any graph without circles.

``Queue.enqueue_flow`` puts a plan in. Its first jobs are enqueued at once, each other one in the transaction in which
the last of those it waits for is recorded as succeeded. See docs/adr/0012-flows.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from jobqueue.exceptions import InvalidJob
from jobqueue.specs import CheckedSpec, JobSpec, check_text

#: Of one flow.
STEPS_MAX, WAITS_MAX = 10_000, 100_000
STEP_NAME_MAX_LENGTH = 100


@dataclass(frozen=True)
class Step:
    """A job of a ``graph``, and the names of those that must have succeeded before it is enqueued."""

    spec: JobSpec
    after: Sequence[str] = ()


@dataclass(frozen=True)
class PlannedStep:
    """A job of a plan, and the positions of those it waits for."""

    spec: JobSpec
    after: frozenset[int] = frozenset()
    name: str = ""


@dataclass(frozen=True)
class Plan:
    """What ``chain``, ``group`` and ``graph`` make; each takes such plans as parts of its own."""

    steps: tuple[PlannedStep, ...]

    @property
    def last(self) -> frozenset[int]:
        """The positions of the steps for which none waits."""
        waited_for = frozenset[int]().union(*(step.after for step in self.steps))
        return frozenset(range(len(self.steps))) - waited_for

    def checked(self) -> list[CheckedSpec]:
        """Return the specs, each checked.

        Raises:
            InvalidJob: A step can't be stored as asked, there is none, or there are too many; the message names it.
        """
        if not self.steps:
            raise InvalidJob("A flow needs a step at least.")
        if len(self.steps) > STEPS_MAX:
            raise InvalidJob(f"A flow of {len(self.steps):,} steps is too long; it may have {STEPS_MAX:,}.")
        if (waits := sum(len(step.after) for step in self.steps)) > WAITS_MAX:
            raise InvalidJob(f"In this flow steps wait {waits:,} times for another; {WAITS_MAX:,} are allowed.")
        return [_checked(position, step) for position, step in enumerate(self.steps)]


def chain(*parts: JobSpec | Plan) -> Plan:
    """Return a plan in which each part waits for all of the one before."""
    return _laid_out(parts, in_turn=True)


def group(*parts: JobSpec | Plan, then: JobSpec | Plan | None = None) -> Plan:
    """Return a plan in which the parts wait for none of the others, and ``then``, if given, for all of them."""
    plan = _laid_out(parts, in_turn=False)
    return plan if then is None else chain(plan, then)


def graph(steps: Mapping[str, Step]) -> Plan:
    """Return a plan whose steps have names, and wait for those that they name.

    Raises:
        InvalidJob: A step waits for one that isn't there, or for itself by a circle; the message names them.
    """
    positions = {name: position for position, name in enumerate(steps)}
    for name, step in steps.items():
        check_text("a step's name", name, STEP_NAME_MAX_LENGTH)
        if missing := [other for other in step.after if other not in positions]:
            raise InvalidJob(f"Step {name!r} waits for {missing[0]!r}, which isn't among the steps.")
    try:
        TopologicalSorter({name: step.after for name, step in steps.items()}).prepare()
    except CycleError as error:
        raise InvalidJob(f"These steps wait for each other: {', '.join(map(repr, error.args[1]))}.") from None
    planned = (PlannedStep(step.spec, frozenset(map(positions.__getitem__, step.after)), name)
               for name, step in steps.items())  # fmt: skip
    return Plan(tuple(planned))


def _plan(part: JobSpec | Plan) -> Plan:
    return part if isinstance(part, Plan) else Plan((PlannedStep(part),))


def _laid_out(parts: Sequence[JobSpec | Plan], *, in_turn: bool) -> Plan:
    steps: list[PlannedStep] = []
    before: frozenset[int] = frozenset()
    for part in map(_plan, parts):
        moved_by = len(steps)
        for step in part.steps:
            after = frozenset(position + moved_by for position in step.after) or before
            steps.append(PlannedStep(step.spec, after, step.name))
        if in_turn and part.steps:
            before = frozenset(position + moved_by for position in part.last)
    return Plan(tuple(steps))


def _checked(position: int, step: PlannedStep) -> CheckedSpec:
    which = f"Step {step.name!r}" if step.name else f"Step {position}"
    if step.spec.idempotency_key is not None:
        raise InvalidJob(f"{which} has an idempotency key: give it to the flow instead.")
    try:
        return step.spec.checked()
    except InvalidJob as error:
        raise InvalidJob(f"{which}: {error}") from None
