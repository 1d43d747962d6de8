"""A random walk over the queue's verbs beside a small model of the five states, compared after each step."""

from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from jobqueue.exceptions import LockLost, NoJobAvailable, NotDeadLettered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows import claims as claiming
from jobqueue.rows.claims import Wanted
from jobqueue.rows.lanes import Marks
from tests.jobqueue.walk_sign import Sign

workers = st.sampled_from(["w1", "w2"])
LONG = timedelta(minutes=5)
#: No process of the server has this id.
NOBODY = 0


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
    promised: bool = False  # its holder shows a sign of life, or should
    suspected: bool = False
    for_long: bool = False
    alone: bool = False
    outcomes: list[str] = field(default_factory=list)

    def claim(self, job: ProcessingJob) -> None:
        self.status, self.attempts, self.token = "processing", self.attempts + 1, job.lock_token
        self.promised = job.holder_key is not None

    def end_attempt(self, outcome: str, status: str) -> None:
        self.outcomes.append(outcome)
        self.status = status
        self.stale = self.promised = self.suspected = self.for_long = False

    def give_back(self, outcome: str | None = None) -> None:
        self.end_attempt(outcome or "", "pending")
        if outcome is None:
            self.outcomes.pop()
        self.attempts, self.token = self.attempts - 1, None

    def succeed(self) -> None:
        self.end_attempt("succeeded", "succeeded")
        self.alone = False

    def fail(self, retry: bool) -> None:
        self.end_attempt("failed", self.after_failure if retry else "dead_letter")
        self.token, self.alone = None, False

    def renew(self) -> None:
        self.stale = self.suspected = self.for_long = False

    def requeue(self) -> None:
        self.status, self.attempts = "pending", 0

    def discard(self) -> None:
        self.status = "failed"

    def cancel(self) -> None:
        if self.status == "processing":
            self.end_attempt("cancelled", "failed")
        self.status, self.token = "failed", None

    @property
    def after_failure(self) -> str:
        return "pending" if self.attempts < self.max_attempts else "dead_letter"

    def judge(self, sign_is_shown: bool, patient: bool) -> None:
        """Do what a look for dead workers does."""
        if self.status != "processing":
            return
        missing = self.promised and not sign_is_shown
        dead = self.stale if not self.promised else self.stale and missing and not patient
        if dead or (self.promised and (self.stale or missing) and self.for_long):
            self.end_attempt("worker_died", self.after_failure)
            self.token, self.alone = None, True
        elif self.promised:
            self.suspected = self.stale or missing
            self.for_long = self.for_long and self.suspected


def _claims(jobs: Iterable[ProcessingJob]) -> list[tuple[int, str]]:
    """Return what tells claims apart; two of one job are equal as rows."""
    return sorted((job.pk, str(job.lock_token)) for job in jobs)


class QueueWalk(RuleBasedStateMachine):
    """Every verb of the queue, at any time, by holders old and new, with crashes before and after each commit."""

    known = Bundle("known")  # ids of jobs
    claims = Bundle("claims")  # jobs as some worker once claimed them; most of them are old

    sign: Sign

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue(stale_lock_after=timedelta(seconds=60))
        self.models: dict[int, Model] = {}
        self.marks = Marks()
        #: Jobs whose rows another session has locked.
        self.locked: set[int] = set()

    def teardown(self) -> None:
        self.sign.vanish()
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

    @rule()
    def enqueue_and_crash(self) -> None:
        with self.crash_before_commit():
            self.queue.enqueue("test.ok", {})

    # Taking out

    def rescue_in_model(self, patient: bool = False) -> None:
        for pk, model in self.models.items():
            if pk not in self.locked:
                model.judge(self.sign.shown, patient)

    def due(self) -> list[int]:
        due = [pk for pk, model in self.models.items() if model.status == "pending" and pk not in self.locked]
        rank = {job.pk: (-job.priority, job.available_at, job.pk) for job in ProcessingJob.objects.filter(pk__in=due)}
        return sorted(due, key=rank.__getitem__)

    def next_due(self, limit: int) -> list[int]:
        """Return what a claim takes: a job whose worker died only by itself."""
        due = self.due()[:limit]
        lonely = [position for position, pk in enumerate(due) if self.models[pk].alone]
        return due[: max(lonely[0], 1)] if lonely else due

    def claimed(self, jobs: Iterable[ProcessingJob]) -> Any:
        jobs = list(jobs)
        for job in jobs:
            self.models[job.pk].claim(job)
        return multiple(*jobs)

    @rule(target=claims, limit=st.integers(1, 3), worker=workers, promises=st.booleans())
    def dequeue(self, limit: int, worker: str, promises: bool) -> Any:
        self.rescue_in_model()
        expected = self.next_due(limit)
        jobs = self.queue.dequeue_many(worker, limit, holder_key=self.sign.key if promises else None)
        assert [job.pk for job in jobs] == expected
        return self.claimed(jobs)

    @rule(target=claims, limit=st.integers(1, 3), now=st.sampled_from([0.0, 0.1, 1e6]))
    def claim_behind_marks(self, limit: int, now: float) -> Any:
        """As a worker does: what lies before its mark waits for a look from the front, the rest comes in order."""
        due, expected = self.due(), self.next_due(limit)
        with transaction.atomic():
            self.marks.begin(now)
            found = claiming.claim("default", Wanted(), limit, "w1", None, marks=self.marks)
        jobs = [job.pk for job in found.jobs]
        if self.marks.looked_behind:
            assert set(jobs) <= set(due)
            assert len(jobs) <= max(limit, 1)
            assert len(jobs) < 2 or not any(self.models[pk].alone for pk in jobs)
        else:
            assert jobs == expected
        return self.claimed(found.jobs)

    @rule(limit=st.integers(1, 3), arrives=st.booleans())
    def claim_and_get_no_answer(self, limit: int, arrives: bool) -> None:
        """The COMMIT's answer is lost; whether it had arrived or not, the claim is undone."""
        token = uuid4()
        with transaction.atomic():
            claiming.claim("default", Wanted(), limit, "w1", None, token=token)
            transaction.set_rollback(not arrives)
        assert claiming.undo("default", token, NOBODY)

    @rule(worker=workers)
    def dequeue_from_an_empty_queue(self, worker: str) -> None:
        self.rescue_in_model()
        try:
            self.queue.dequeue(worker, queue_names=["empty"])
        except NoJobAvailable:
            return
        raise AssertionError

    @rule(patient=st.booleans())
    def rescue(self, patient: bool) -> None:
        before = sum(model.outcomes.count("worker_died") for model in self.models.values())
        self.rescue_in_model(patient)
        after = sum(model.outcomes.count("worker_died") for model in self.models.values())
        assert self.queue.rescue(patient=patient) == after - before

    # What holders say, present and former ones alike

    def holds(self, job: ProcessingJob) -> bool:
        model = self.models[job.pk]
        return model.status == "processing" and model.token == job.lock_token

    def has_succeeded(self, job: ProcessingJob) -> bool:
        model = self.models[job.pk]
        return model.status == "succeeded" and model.token == job.lock_token

    @rule(job=claims)
    def complete(self, job: ProcessingJob) -> None:
        if job.pk in self.locked:
            return  # it would wait
        held = self.holds(job)
        assert self.succeeds(self.queue.complete, job) is (held or self.has_succeeded(job))
        if held:
            self.models[job.pk].succeed()

    @rule(jobs=st.lists(claims, max_size=5))
    def complete_many(self, jobs: list[ProcessingJob]) -> None:
        held = [job for job in jobs if self.holds(job)]
        free = [job for job in held if job.pk not in self.locked]
        recorded = [*free, *(job for job in jobs if self.has_succeeded(job))]
        done = self.queue.complete_many([(job, None) for job in jobs])
        assert _claims(done.recorded) == _claims(recorded)
        assert _claims(done.locked) == _claims(job for job in held if job.pk in self.locked)
        assert len(done.lost) == len(jobs) - len(done.recorded) - len(done.locked)
        for pk in {job.pk for job in free}:
            self.models[pk].succeed()

    @rule(job=claims, retry=st.booleans())
    def fail(self, job: ProcessingJob, retry: bool) -> None:
        if job.pk in self.locked:
            return
        if not self.holds(job):
            assert not self.succeeds(lambda job: self.queue.fail(job, "boom", retry=retry), job)
            return
        self.models[job.pk].fail(retry)
        assert self.queue.fail(job, "boom", retry=retry) == self.models[job.pk].status

    @rule(jobs=st.lists(claims, max_size=4))
    def renew(self, jobs: list[ProcessingJob]) -> None:
        held = [job for job in jobs if self.holds(job)]
        assert self.queue.renew(jobs) == held
        for job in held:
            if job.pk not in self.locked:
                self.models[job.pk].renew()

    @rule(jobs=st.lists(claims, max_size=4), started=st.booleans())
    def release(self, jobs: list[ProcessingJob], started: bool) -> None:
        held = [job for job in jobs if self.holds(job) and job.pk not in self.locked]
        assert self.queue.release(jobs, started=started) == held
        for pk in {job.pk for job in held}:
            self.models[pk].give_back("released" if started else None)

    @rule(job=claims, percent=st.integers(0, 100))
    def report_progress(self, job: ProcessingJob, percent: int) -> None:
        if job.pk in self.locked:
            return
        assert self.succeeds(lambda job: self.queue.report_progress(job, percent), job) is self.holds(job)
        assert self.queue.still_held(job) is self.holds(job)

    @rule(job=claims, verb=st.sampled_from(["complete", "complete_many", "fail", "release", "renew"]))
    def say_something_and_crash(self, job: ProcessingJob, verb: str) -> None:
        if job.pk in self.locked:
            return
        verbs: dict[str, Callable[[], object]] = {
            "complete": lambda: self.queue.complete(job),
            "complete_many": lambda: self.queue.complete_many([(job, None)]),
            "fail": lambda: self.queue.fail(job, "boom"),
            "release": lambda: self.queue.release([job]),
            "renew": lambda: self.queue.renew([job]),
        }
        with self.crash_before_commit():
            verbs[verb]()

    @staticmethod
    @contextmanager
    def crash_before_commit() -> Any:
        """Whatever is said inside is as if it had never been said."""
        with transaction.atomic():
            with suppress(LockLost):
                yield
            transaction.set_rollback(True)

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
        if pk in self.locked:
            return
        model = self.models[pk]
        unfinished = model.status in ("pending", "processing")
        assert self.queue.cancel(pk) is unfinished
        if unfinished:
            model.cancel()

    @rule(pk=known)
    def requeue(self, pk: int) -> None:
        model = self.models[pk]
        if pk in self.locked:
            return
        if model.status != "dead_letter":
            self.refuses(self.queue.requeue_dead_letter, pk)
            return
        self.queue.requeue_dead_letter(pk)
        model.requeue()

    @rule(pk=known)
    def discard(self, pk: int) -> None:
        model = self.models[pk]
        if pk in self.locked:
            return
        if model.status != "dead_letter":
            self.refuses(self.queue.discard, pk)
            return
        self.queue.discard(pk)
        model.discard()

    @staticmethod
    def refuses(verb: Any, pk: int) -> None:
        try:
            verb(pk)
        except NotDeadLettered:
            return
        raise AssertionError("not refused")

    @rule(pk=known)
    def a_lock_gets_old(self, pk: int) -> None:
        model = self.models[pk]
        if model.status == "processing" and pk not in self.locked:
            ProcessingJob.objects.filter(pk=pk).update(locked_at=F("locked_at") - LONG)
            model.stale = True

    @rule()
    def the_grace_time_passes(self) -> None:
        ProcessingJob.objects.exclude(pk__in=self.locked).update(suspected_since=F("suspected_since") - LONG)
        for pk, model in self.models.items():
            model.for_long = model.for_long or (model.suspected and pk not in self.locked)

    @rule(shown=st.booleans())
    def the_sign_of_life_comes_or_goes(self, shown: bool) -> None:
        self.sign.show() if shown else self.sign.vanish()

    @rule(pk=consumes(known))
    def prune(self, pk: int) -> None:
        """Retention frees the key of a finished job; its id stays known to old claims."""
        model = self.models[pk]
        if model.status in ("succeeded", "failed") and pk not in self.locked:
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
            assert (job.lock_token, job.suspected_since is not None) == (model.token, model.suspected)
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
