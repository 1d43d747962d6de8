"""Random walks: the queue against a small model of the five states, compared after each step."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from jobqueue.exceptions import LockLost, NoJobAvailable, NotDeadLettered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue


@dataclass
class Model:
    """What we believe about one job."""

    max_attempts: int
    priority: int
    key: str | None
    status: str = "pending"
    attempts: int = 0
    token: Any = None  # of the claim that holds it, or completed it
    stale: bool = False
    alone: bool = False
    outcomes: list[str] = field(default_factory=list)

    def end_attempt(self, outcome: str, status: str) -> None:
        self.outcomes.append(outcome)
        self.status, self.stale = status, False

    @property
    def after_failure(self) -> str:
        return "pending" if self.attempts < self.max_attempts else "dead_letter"


class QueueWalk(RuleBasedStateMachine):
    """Every verb of the queue, at any time, by holders old and new."""

    known = Bundle("known")  # ids of jobs
    claims = Bundle("claims")  # jobs as some worker once claimed them; most of them are old

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue(stale_lock_after=timedelta(seconds=60))
        self.models: dict[int, Model] = {}

    def teardown(self) -> None:
        ProcessingJob.objects.all().delete()

    # Putting in

    @rule(
        target=known,
        key=st.none() | st.sampled_from(["a", "b"]),
        priority=st.sampled_from([-1, 0, 1]),
        max_attempts=st.integers(1, 3),
    )
    def enqueue(self, key: str | None, priority: int, max_attempts: int) -> int:
        job = self.queue.enqueue("test.ok", {}, idempotency_key=key, priority=priority, max_attempts=max_attempts)
        holder_of_key = [pk for pk, model in self.models.items() if key is not None and model.key == key]
        assert job.created is not bool(holder_of_key)
        if holder_of_key:
            assert [job.pk] == holder_of_key
        else:
            assert job.pk not in self.models
            self.models[job.pk] = Model(max_attempts, priority, key)
        return job.pk

    # Taking out

    def rescue_in_model(self) -> None:
        for model in self.models.values():
            if model.stale:
                model.end_attempt("worker_died", model.after_failure)
                model.token, model.alone = None, True

    def due(self) -> list[int]:
        due = [pk for pk, model in self.models.items() if model.status == "pending"]
        rank = {job.pk: (-job.priority, job.available_at, job.pk) for job in ProcessingJob.objects.filter(pk__in=due)}
        return sorted(due, key=rank.__getitem__)

    @rule(target=claims, limit=st.integers(1, 3), worker=st.sampled_from(["w1", "w2"]))
    def dequeue(self, limit: int, worker: str) -> Any:
        self.rescue_in_model()
        expected = self.due()[:limit]
        lonely = [position for position, pk in enumerate(expected) if self.models[pk].alone]
        if lonely:
            expected = expected[: max(lonely[0], 1)]
        jobs = self.queue.dequeue_many(worker, limit)
        assert [job.pk for job in jobs] == expected
        for job in jobs:
            model = self.models[job.pk]
            model.status, model.attempts, model.token = "processing", model.attempts + 1, job.lock_token
        return multiple(*jobs)

    @rule(worker=st.sampled_from(["w1", "w2"]))
    def dequeue_from_an_empty_queue(self, worker: str) -> None:
        self.rescue_in_model()
        try:
            self.queue.dequeue(worker, queue_names=["empty"])
        except NoJobAvailable:
            return
        raise AssertionError

    # What holders say, present and former ones alike

    def holds(self, job: ProcessingJob) -> bool:
        model = self.models[job.pk]
        return model.status == "processing" and model.token == job.lock_token

    @rule(job=claims)
    def complete(self, job: ProcessingJob) -> None:
        model = self.models[job.pk]
        repeated = model.status == "succeeded" and model.token == job.lock_token
        held = self.holds(job)
        assert self.succeeds(self.queue.complete, job) is (held or repeated)
        if held:
            model.end_attempt("succeeded", "succeeded")
            model.alone = False

    @rule(job=claims, retry=st.booleans())
    def fail(self, job: ProcessingJob, retry: bool) -> None:
        model = self.models[job.pk]
        if not self.holds(job):
            assert not self.succeeds(lambda job: self.queue.fail(job, "boom", retry=retry), job)
            return
        status = model.after_failure if retry else "dead_letter"
        assert self.queue.fail(job, "boom", retry=retry) == status
        model.end_attempt("failed", status)
        model.token, model.alone = None, False

    @rule(jobs=st.lists(claims, max_size=4))
    def renew(self, jobs: list[ProcessingJob]) -> None:
        held = [job for job in jobs if self.holds(job)]
        assert self.queue.renew(jobs) == held
        for job in held:
            self.models[job.pk].stale = False

    @rule(jobs=st.lists(claims, max_size=4))
    def release(self, jobs: list[ProcessingJob]) -> None:
        held = [job for job in jobs if self.holds(job)]
        assert self.queue.release(jobs) == held
        for pk in {job.pk for job in held}:
            model = self.models[pk]
            model.end_attempt("released", "pending")
            model.attempts, model.token = model.attempts - 1, None

    @rule(job=claims, percent=st.integers(0, 100))
    def report_progress(self, job: ProcessingJob, percent: int) -> None:
        assert self.succeeds(lambda job: self.queue.report_progress(job, percent), job) is self.holds(job)
        assert self.queue.still_held(job) is self.holds(job)

    @staticmethod
    def succeeds(write: Any, job: ProcessingJob) -> bool:
        try:
            write(job)
        except LockLost:
            return False
        return True

    # What people and time do

    @rule(pk=known)
    def cancel(self, pk: int) -> None:
        model = self.models[pk]
        assert self.queue.cancel(pk) is (model.status in ("pending", "processing"))
        if model.status == "processing":
            model.end_attempt("cancelled", "failed")
        if model.status == "pending":
            model.status = "failed"
        if model.status == "failed":
            model.token = None

    @rule(pk=known)
    def requeue(self, pk: int) -> None:
        model = self.models[pk]
        if model.status != "dead_letter":
            self.refuses(self.queue.requeue_dead_letter, pk)
            return
        self.queue.requeue_dead_letter(pk)
        model.status, model.attempts = "pending", 0

    @rule(pk=known)
    def discard(self, pk: int) -> None:
        model = self.models[pk]
        if model.status != "dead_letter":
            self.refuses(self.queue.discard, pk)
            return
        self.queue.discard(pk)
        model.status = "failed"

    @staticmethod
    def refuses(verb: Any, pk: int) -> None:
        try:
            verb(pk)
        except NotDeadLettered:
            return
        raise AssertionError("not refused")

    @rule(pk=known)
    def worker_dies(self, pk: int) -> None:
        model = self.models[pk]
        if model.status == "processing":
            ProcessingJob.objects.filter(pk=pk).update(locked_at=F("locked_at") - timedelta(minutes=5))
            model.stale = True

    @rule(pk=consumes(known))
    def prune(self, pk: int) -> None:
        """Retention frees the key of a finished job; its id stays known to old claims."""
        model = self.models[pk]
        if model.status in ("succeeded", "failed"):
            ProcessingJob.objects.filter(pk=pk).update(idempotency_key=None)
            model.key = None

    # Rules that hold at every moment

    @invariant()
    def the_table_says_what_the_model_says_and_the_rules_of_the_contract_hold(self) -> None:
        rows = {job.pk: job for job in ProcessingJob.objects.annotate(now=Now())}
        assert rows.keys() == self.models.keys()
        for pk, model in self.models.items():
            job = rows[pk]
            assert (job.status, job.attempts, job.idempotency_key) == (model.status, model.attempts, model.key)
            assert job.lock_token == model.token
            assert [entry["outcome"] for entry in job.history] == model.outcomes[-20:]
            self.assert_lawful(job)

    @staticmethod
    def assert_lawful(job: ProcessingJob) -> None:
        assert (job.status == "processing") is (job.locked_at is not None) is (job.locked_by is not None)
        assert (job.status in ("succeeded", "failed")) is (job.finished_at is not None)
        assert 0 <= job.attempts <= job.max_attempts
        assert job.status != "pending" or job.attempts < job.max_attempts
        for at in (job.created_at, job.available_at, job.started_at, job.locked_at, job.finished_at):
            assert at is None or at <= job.now  # type: ignore[attr-defined]  # annotated above


def test_no_sequence_of_verbs_breaks_a_rule(tenant: str) -> None:
    walks = settings(max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(QueueWalk, settings=walks)
