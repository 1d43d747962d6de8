"""A random walk with concurrency keys: no more run than may, none is blocked while a slot is free, none is lost."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.db.models import Count, F, Max
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.claims import Wanted, claim, undo
from jobqueue.rows.lanes import Marks

LIMITS = {"a": 1, "b": 2}
LONG = timedelta(minutes=5)
ENDINGS = ["complete", "complete all", "retry", "bury", "release", "cancel", "die"]
number = st.integers(0, 5)


class Keys(RuleBasedStateMachine):
    """Each step is as good as committed: the deferred triggers run after it."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue(stale_lock_after=timedelta(seconds=60))
        self.held: list[ProcessingJob] = []
        self.marks = Marks()
        self.enqueued = 0

    def pending(self) -> Sequence[int]:
        return list(ProcessingJob.objects.filter(status="pending").order_by("pk").values_list("pk", flat=True))

    @rule(
        key=st.sampled_from([None, "a", "a", "b", "b"]),
        kind=st.sampled_from(["test.ok", "test.sleep"]),
        priority=st.integers(0, 1),
        times=st.integers(1, 4),
    )
    def enqueue(self, key: str | None, kind: str, priority: int, times: int) -> None:
        for _ in range(times):
            self.enqueued += 1
            self.queue.enqueue(
                kind,
                {},
                idempotency_key=str(self.enqueued),
                priority=priority,
                concurrency_key=key,
                concurrency_limit=LIMITS.get(key or "", 1),
                max_attempts=3,
            )

    @rule(limit=st.integers(1, 4), kinds=st.sampled_from([None, ["test.ok"], ["test.sleep"]]))
    def take(self, limit: int, kinds: list[str] | None) -> None:
        self.held += self.queue.dequeue_many("w1", limit, kinds)

    @rule(limit=st.integers(1, 4), now=st.sampled_from([0.0, 1e6]), undone=st.booleans())
    def take_behind_marks(self, limit: int, now: float, undone: bool) -> None:
        with transaction.atomic():
            self.marks.begin(now)
            jobs = claim("default", Wanted(), limit, "w2", None, marks=self.marks).jobs
        if undone and jobs and jobs[0].lock_token:
            undo("default", jobs[0].lock_token, 0)
        else:
            self.held += jobs

    @precondition(lambda self: self.held)
    @rule(which=number, ending=st.sampled_from(ENDINGS))
    def end(self, which: int, ending: str) -> None:
        job = self.held.pop(which % len(self.held))
        if ending == "complete all":
            self.queue.complete_many([(each, None) for each in [job, *self.held]])
            self.held = []
        elif ending == "die":
            ProcessingJob.objects.filter(pk=job.pk).update(locked_at=F("locked_at") - LONG)
            assert self.queue.rescue() == 1
        else:
            {
                "complete": lambda: self.queue.complete(job),
                "retry": lambda: self.queue.fail(job, "boom"),
                "bury": lambda: self.queue.fail(job, "boom", retry=False),
                "release": lambda: self.queue.release([job]),
                "cancel": lambda: self.queue.cancel(job.pk),
            }[ending]()

    @precondition(lambda self: self.pending())
    @rule(which=number, verb=st.sampled_from(["cancel", "delete", "put off", "put elsewhere"]))
    def change_what_waits(self, which: int, verb: str) -> None:
        waiting = self.pending()
        job = self.queue.get(waiting[which % len(waiting)])
        if verb == "cancel":
            assert self.queue.cancel(job.pk)
        elif verb == "delete":
            ProcessingJob.objects.filter(pk=job.pk).delete()
        else:
            later = job.created_at + timedelta(days=1)
            self.queue.enqueue(
                job.job_type,
                {},
                idempotency_key=job.idempotency_key,
                if_known="replace",
                queue_name="other" if verb == "put elsewhere" else job.queue_name,
                available_at=later if verb == "put off" else None,
                concurrency_key=job.concurrency_key,
                concurrency_limit=LIMITS.get(job.concurrency_key or "", 1),
            )

    @rule()
    def time_passes(self) -> None:
        ProcessingJob.objects.filter(status="pending", blocked_due_at=None).update(
            available_at=F("created_at") - timedelta(seconds=1)
        )

    @invariant()
    def no_more_run_than_may_and_none_is_blocked_in_vain(self) -> None:
        connection.check_constraints()
        running = ProcessingJob.objects.filter(status="processing", concurrency_key__isnull=False)
        counts = dict(running.values_list("concurrency_key").annotate(Count("pk")))
        assert all(count <= LIMITS[str(key)] for key, count in counts.items())
        assert not running.filter(concurrency_slot=None).exists()
        pending = ProcessingJob.objects.filter(status="pending")
        blocked = pending.filter(blocked_due_at__isnull=False)
        kinds = ("concurrency_key", "job_type", "queue_name")
        free = set(pending.filter(blocked_due_at=None).values_list(*kinds))
        for key, *kind in blocked.values_list(*kinds).distinct():
            assert counts.get(key, 0) == LIMITS[str(key)] or (key, *kind) in free

    def teardown(self) -> None:
        """All that waits runs in the end."""
        self.queue.complete_many([(job, None) for job in self.held])
        connection.check_constraints()
        self.time_passes()
        while jobs := self.queue.dequeue_many("w3", 3):
            self.queue.complete_many([(job, None) for job in jobs])
            connection.check_constraints()
        left = ProcessingJob.objects.filter(status__in=("pending", "processing"))
        assert left.aggregate(Max("pk"))["pk__max"] is None
        ProcessingJob.objects.all().delete()


@pytest.mark.parametrize("times", [10, pytest.param(300, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
@pytest.mark.usefixtures("db")
def test_no_sequence_of_verbs_breaks_a_limit_or_leaves_a_job_blocked(times: int) -> None:
    walks = settings(max_examples=times, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
    with use("acme"):
        run_state_machine_as_test(Keys, settings=walks)
