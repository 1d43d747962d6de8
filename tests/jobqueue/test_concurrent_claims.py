"""Workers that look at the same moment never get the same job, and never wait for each other."""

import threading
from datetime import timedelta

import pytest
from django.db import transaction

from jobqueue.exceptions import LockLost, NotDeadLettered
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.concurrency import backend_pid, threads, together, waits_for_a_lock
from tests.jobqueue.jobs import Jobs, age_lock, columns, row
from tests.jobqueue.waiting import eventually

pytestmark = pytest.mark.usefixtures("committed_db")


def test_no_job_is_claimed_twice(queue: Queue) -> None:
    queue.enqueue_many([JobSpec("test.ok", {}) for _ in range(300)])

    def work(number: int) -> list[int]:
        mine: list[int] = []
        while jobs := queue.dequeue_many(f"w{number}", 7):
            mine += [job.pk for job in jobs]
        return mine

    shares = together(6, work)

    claimed = [pk for share in shares for pk in share]
    assert len(claimed) == len(set(claimed)) == 300
    assert set(ProcessingJob.objects.values_list("status", "attempts")) == {("processing", 1)}


def test_one_job_goes_to_one_of_many(queue: Queue, jobs: Jobs) -> None:
    for _ in range(5):
        job = jobs.pending()
        answers = together(4, lambda number: queue.dequeue_many(f"w{number}", 1))

        (claim,) = [claim for answer in answers for claim in answer]
        assert row(job).locked_by == claim.locked_by
        queue.complete(claim)


def test_one_stale_job_is_rescued_by_one_of_many(queue: Queue, jobs: Jobs) -> None:
    for _ in range(5):
        job = jobs.processing()
        age_lock(job)
        answers = together(4, lambda number: queue.dequeue_many(f"w{number}", 1))

        assert sum(map(len, answers)) == 1
        assert (row(job).attempts, len(row(job).history)) == (2, 1)
        queue.complete(next(claim for answer in answers for claim in answer))


def test_claims_that_are_not_committed_are_invisible_and_waited_for_by_nobody(queue: Queue, jobs: Jobs) -> None:
    first, second = jobs.pending(), jobs.pending()

    with threads(1) as start, transaction.atomic():
        assert queue.dequeue("w1").pk == first.pk
        assert start(queue.dequeue, "w2").result(10).pk == second.pk
        transaction.set_rollback(True)

    assert (row(first).status, row(first).attempts) == ("pending", 0)
    assert queue.dequeue("w3").pk == first.pk


def test_a_claim_that_is_given_away_meanwhile_is_lost_to_the_writer_that_waits(queue: Queue, jobs: Jobs) -> None:
    """The fence holds against a row that changes between the statement's start and its turn."""
    old = jobs.processing("w1")
    age_lock(old)
    pids: list[int] = []

    def complete_late() -> None:
        pids.append(backend_pid())
        queue.complete(old, "mine")

    with threads(1) as start:
        with transaction.atomic():
            new = queue.dequeue("w2")
            late = start(complete_late)
            eventually(lambda: pids and waits_for_a_lock(pids[0]))
        with pytest.raises(LockLost):
            late.result(10)

    assert queue.still_held(new)
    assert row(new).result is None


def test_a_rescue_leaves_alone_the_job_whose_worker_is_just_completing_it(queue: Queue, jobs: Jobs) -> None:
    """Q17: the finisher wins; others of the batch are rescued."""
    finishing, orphan = jobs.processing("w1"), jobs.processing("w2")
    age_lock(finishing)
    age_lock(orphan)

    with threads(1) as start, transaction.atomic():
        queue.complete(finishing, "mine")
        assert start(queue.dequeue, "w3").result(10).pk == orphan.pk

    assert (row(finishing).status, row(finishing).result) == ("succeeded", "mine")


def test_a_handler_that_holds_its_row_in_a_long_transaction_hinders_no_other_lock(queue: Queue, jobs: Jobs) -> None:
    busy, idle = jobs.processing(), jobs.processing()
    for job in (busy, idle):
        age_lock(job, timedelta(seconds=40))
    before = columns(busy)

    with threads(1) as start, transaction.atomic():
        queue.report_progress(busy, 50)
        assert start(queue.renew, [busy, idle]).result(10) == [busy, idle]
        assert start(queue.release, [busy, idle]).result(10) == [idle]

    assert columns(busy) == before | {"progress": 50}
    assert row(idle).status == "pending"


def test_two_people_who_requeue_one_dead_letter_requeue_it_once(queue: Queue, jobs: Jobs) -> None:
    """Q49: the double click."""
    job = jobs.dead_letter()

    assert sorted(together(4, lambda number: attempt(queue, job))) == ["done", "refused", "refused", "refused"]
    assert row(job).status == "pending"


def attempt(queue: Queue, job: ProcessingJob) -> str:
    try:
        queue.requeue_dead_letter(job.pk)
    except NotDeadLettered:
        return "refused"
    return "done"


def test_cancelling_and_completing_at_one_moment_has_one_winner(queue: Queue, jobs: Jobs) -> None:
    for _ in range(5):
        job = jobs.processing()
        barrier = threading.Barrier(2)

        def complete(job: ProcessingJob = job, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait(10)
            try:
                queue.complete(job)
            except LockLost:
                return False
            return True

        def cancel(job: ProcessingJob = job, barrier: threading.Barrier = barrier) -> bool:
            barrier.wait(10)
            return queue.cancel(job.pk)

        with threads(2) as start:
            completed, cancelled = (future.result(10) for future in (start(complete), start(cancel)))

        assert completed is not cancelled
        assert row(job).status == ("succeeded" if completed else "failed")
