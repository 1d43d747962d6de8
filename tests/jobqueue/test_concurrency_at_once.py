"""Concurrency keys under many workers at the same moment, and one that is killed."""

import signal
import threading
from collections import Counter

import pytest
from django.db import connection, transaction

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.concurrency import backend_pid, threads, together, waits_for_a_lock
from tests.jobqueue.conftest import Start
from tests.jobqueue.jobs import Jobs, row
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants
from tests.testjobs import ledger

pytestmark = pytest.mark.usefixtures("committed_db")

LIMITS = {"one": 1, "three": 3}


@pytest.fixture
def in_acme(committed_db: None) -> Queue:
    return Queue()


def test_eight_at_once_never_run_more_than_the_limit_and_leave_nothing(in_acme: Queue) -> None:
    """Batches of several keys in any order: they also would wait for each other in a circle, if they could."""
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    lock = threading.Lock()

    def work(number: int) -> int:
        queue, done = Queue(), 0
        while ProcessingJob.objects.filter(status="pending").exists():
            jobs = queue.dequeue_many(f"w{number}", 1 + number % 4)
            with lock:
                for key in [str(job.concurrency_key) for job in jobs]:
                    running[key] += 1
                    most[key] = max(most[key], running[key])
            with lock:  # before the commit that lets others go on
                running.subtract(str(job.concurrency_key) for job in jobs)
            done += len(jobs)
            while jobs:  # another claim, whose look was older, may have locked a row for a moment
                completed = queue.complete_many([(job, None) for job in jobs])
                assert not completed.lost
                jobs = completed.locked
        return done

    with use("acme"):
        keys = ["one", "three", "three"] * 15
        in_acme.enqueue_many(JobSpec("test.ok", {}, concurrency_key=k, concurrency_limit=LIMITS[k]) for k in keys)
        assert sum(together(8, work)) == len(keys)
    assert most["one"] == 1
    assert most["three"] <= 3


def test_a_commit_that_frees_a_slot_is_waited_for_and_what_was_blocked_meanwhile_goes_on(
    queue: Queue, jobs: Jobs
) -> None:
    first, second = jobs.processing(concurrency_key="k"), jobs.pending(concurrency_key="k")
    pids: list[int] = []

    def claim() -> list[ProcessingJob]:
        pids.append(backend_pid())
        return Queue().dequeue_many("w2", 10)

    with threads(1) as start:
        with transaction.atomic():
            queue.complete(first)
            connection.check_constraints()  # as at its commit: the lock is held
            answer = start(claim)
            eventually(lambda: pids and waits_for_a_lock(pids[0]))
        assert [job.pk for job in answer.result(30)] == [second.pk]


def test_a_handlers_long_transaction_holds_up_no_claims(queue: Queue, jobs: Jobs) -> None:
    first, second = jobs.processing(concurrency_key="k"), jobs.pending(concurrency_key="k")
    other = jobs.pending(concurrency_key="other")
    with threads(1) as start:
        with transaction.atomic():
            queue.complete(first)
            answer = start(lambda: Queue().dequeue_many("w2", 10))
            assert [job.pk for job in answer.result(30)] == [other.pk]
        assert row(second).blocked_due_at is None
    assert [job.pk for job in queue.dequeue_many("w2", 10)] == [second.pk]


def test_workers_keep_to_a_limit_of_one_though_one_of_them_is_killed(both: BothTenants, start: Start) -> None:
    stuck = both.enqueue("test.sleep", {"seconds": 600}, priority=1, concurrency_key="k")
    quick = [both.enqueue("test.sleep", {"seconds": 0.02}, concurrency_key="k") for _ in range(5)]
    victim = start("--concurrency", "4")
    both.have_started(stuck)
    others = [start("--concurrency", "4") for _ in range(2)]
    for other in others:
        other.has_said("worker ")
    both.a_canary_passes()
    assert not any(both.runs(quick[0]))

    for tenant in TENANTS:  # its second attempt is short
        with use(tenant):
            ProcessingJob.objects.filter(pk=stuck.ids[tenant]).update(payload={"seconds": 0.02})
    victim.signal(signal.SIGKILL)
    for twins in [stuck, *quick]:
        twins.become("succeeded", within=60)
    for tenant in TENANTS:
        events = [entry for entry in ledger.read(both.ledger_file) if entry["schema"] == tenant]
        keyed = {twins.ids[tenant] for twins in [stuck, *quick]}
        order = [(entry["event"], entry["job"]) for entry in events if entry["job"] in keyed]
        order = [(event, job) for event, job in order if event in ("start", "end")]
        assert order.pop(0) == ("start", stuck.ids[tenant])  # the attempt that was killed
        assert [event for event, _ in order] == ["start", "end"] * 6
        assert [job for _, job in order[::2]] == [job for _, job in order[1::2]]
