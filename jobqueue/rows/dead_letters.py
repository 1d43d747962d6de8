"""What people decide about dead letters: let them run again, or give them up. Locked rows are left alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, DurationField, ExpressionWrapper, Func, Max, QuerySet, TextField, Value
from django.db.models.functions import Left, Now, Random

from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus
from jobqueue.wakeup import wake_after_commit

_CAUSE_MAX_LENGTH = 200


@dataclass
class Decided:
    """Ids by what became of them."""

    done: list[int] = field(default_factory=list)
    #: With the reason: the job's status, "locked" (somebody else is deciding), or "unknown" (no such job).
    refused: dict[int, str] = field(default_factory=dict)

    def __iadd__(self, other: "Decided") -> "Decided":
        self.done += other.done
        self.refused |= other.refused
        return self


def requeue(using: str, ids: Sequence[int], *, spread: timedelta = timedelta(0)) -> Decided:
    """Make dead letters ``pending`` with no attempts counted, due at a random moment within ``spread`` from now."""
    delay = ExpressionWrapper(Random() * Value(spread), output_field=DurationField())
    decided = _decide(using, ids, status=JobStatus.PENDING, attempts=0, available_at=Now() + delay)
    if decided.done:
        wake_after_commit(using)
    return decided


def discard(using: str, ids: Sequence[int]) -> Decided:
    """Make dead letters ``failed``, which is final."""
    return _decide(using, ids, status=JobStatus.FAILED, finished_at=Now())


def _decide(using: str, ids: Sequence[int], **changes: Any) -> Decided:
    jobs = ProcessingJob.objects.using(using).filter(pk__in=ids)
    with transaction.atomic(using):
        dead = jobs.filter(status=JobStatus.DEAD_LETTER).order_by("pk")
        # One is waited for; of many, those that somebody else is deciding about are left to them.
        dead = dead.select_for_update(skip_locked=len(ids) > 1)
        done = list(dead.values_list("pk", flat=True))
        ProcessingJob.objects.using(using).filter(pk__in=done).update(**changes)
    others = set(ids).difference(done)
    if not others:
        return Decided(done)
    found = dict(jobs.filter(pk__in=others).values_list("pk", "status"))
    reasons = {pk: found.get(pk, "unknown") for pk in sorted(others)}
    return Decided(done, {pk: "locked" if why == JobStatus.DEAD_LETTER else why for pk, why in reasons.items()})


def newest_dead_letters(jobs: QuerySet[ProcessingJob], limit: int) -> QuerySet[ProcessingJob]:
    """Return the dead letters among ``jobs`` that are among the ``limit`` newest of all, by their partial index."""
    dead = jobs.filter(status=JobStatus.DEAD_LETTER)
    of_all = ProcessingJob.objects.using(jobs.db).filter(status=JobStatus.DEAD_LETTER)
    oldest = of_all.order_by("-pk").values_list("pk", flat=True)[limit - 1 : limit].first()
    return dead if oldest is None else dead.filter(pk__gte=oldest)


@dataclass(frozen=True)
class Cause:
    """The dead letters of one job type whose last error begins with the same line."""

    job_type: str
    cause: str
    jobs: int
    newest_id: int


def causes(jobs: QuerySet[ProcessingJob], limit: int = 200) -> list[Cause]:
    """Group the dead letters among ``jobs`` by type and cause, the most frequent first."""
    groups = (
        _with_cause(jobs)
        .values("job_type", "cause")
        .annotate(jobs=Count("pk"), newest_id=Max("pk"))
        .order_by("-jobs", "job_type", "cause")
    )
    return [Cause(**group) for group in groups[:limit]]


def of_cause(jobs: QuerySet[ProcessingJob], cause: str) -> QuerySet[Any]:
    """Return the dead letters among ``jobs`` that died of exactly this cause."""
    return _with_cause(jobs).filter(cause=cause)


def with_words(jobs: QuerySet[ProcessingJob], words: str) -> QuerySet[Any]:
    """Return the dead letters among ``jobs`` in the first line of whose errors these words stand, in any case."""
    return _dead(jobs).annotate(first_line=_first_line()).filter(first_line__icontains=words)


def _with_cause(jobs: QuerySet[ProcessingJob]) -> QuerySet[Any]:
    # Which worker it was is no cause: a job that kills them all does so to a different one each time.
    nameless = (Value(r"^(worker died) \(.*\)$"), Value(r"\1"))
    return _dead(jobs).annotate(
        cause=Func(_first_line(), *nameless, function="regexp_replace", output_field=TextField())
    )


def _first_line() -> Func:
    # Cut before it is split: so the rest of a long text needs not be read.
    beginning = Left("last_error", _CAUSE_MAX_LENGTH)
    return Func(beginning, Value("\n"), Value(1), function="split_part", output_field=TextField())


def _dead(jobs: QuerySet[ProcessingJob]) -> QuerySet[ProcessingJob]:
    return jobs.filter(status=JobStatus.DEAD_LETTER)
