"""Q25 and Q26: transactions that enqueue one key at the same moment agree on one job, and none of them breaks."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db import OperationalError, connection, transaction

from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.concurrency import backend_pid, threads, together, waits_for_a_lock
from tests.jobqueue.jobs import Jobs
from tests.jobqueue.waiting import eventually

pytestmark = pytest.mark.usefixtures("committed_db")


def enqueue_in(level: str, queue: Queue, pids: list[int], lock_timeout: str = "0") -> ProcessingJob:
    """Enqueue the key in a transaction of this isolation level, with a snapshot taken before."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            cursor.execute("SELECT count(*) FROM processing_jobs")
            cursor.execute(f"SET LOCAL lock_timeout = '{lock_timeout}'")
        pids.append(backend_pid())
        return queue.enqueue("test.ok", {"by": "b"}, idempotency_key="k")


def race(queue: Queue, work: Callable[[list[int]], ProcessingJob], callers: int, *, commit: bool) -> list[object]:
    """Enqueue the key, let the callers come upon it, end the transaction; return each one's job or error."""
    pids: list[int] = []
    with threads(callers) as start:
        with transaction.atomic():
            queue.enqueue("test.ok", {"by": "a"}, idempotency_key="k")
            futures = [start(work, pids) for _ in range(callers)]
            eventually(lambda: len(pids) == callers and all(map(waits_for_a_lock, pids)))
            transaction.set_rollback(not commit)
        return [future.exception(20) or future.result() for future in futures]


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_key_whose_first_enqueue_is_rolled_back_is_enqueued_by_the_one_who_waited(queue: Queue, level: str) -> None:
    (job,) = race(queue, lambda pids: enqueue_in(level, queue, pids), 1, commit=False)

    assert isinstance(job, ProcessingJob)
    assert job.created
    assert ProcessingJob.objects.get().payload == {"by": "b"}


def test_a_key_whose_first_enqueue_commits_is_answered_with_that_job(queue: Queue) -> None:
    jobs = race(queue, lambda pids: enqueue_in("READ COMMITTED", queue, pids), 5, commit=True)

    only = ProcessingJob.objects.get()
    assert only.payload == {"by": "a"}
    assert [(job.pk, job.created) for job in jobs] == [(only.pk, False)] * 5  # type: ignore[attr-defined]


def test_of_five_who_waited_for_a_rollback_one_enqueues(queue: Queue) -> None:
    jobs = race(queue, lambda pids: enqueue_in("READ COMMITTED", queue, pids), 5, commit=False)

    only = ProcessingJob.objects.get()
    assert {job.pk for job in jobs} == {only.pk}  # type: ignore[attr-defined]
    assert sorted(job.created for job in jobs) == [False] * 4 + [True]  # type: ignore[attr-defined]


@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_with_an_older_snapshot_the_documented_error_comes_instead_of_a_silent_miss(queue: Queue, level: str) -> None:
    (error,) = race(queue, lambda pids: enqueue_in(level, queue, pids), 1, commit=True)

    assert isinstance(error, OperationalError)
    assert "could not serialize access" in str(error)
    assert ProcessingJob.objects.get().payload == {"by": "a"}


def test_who_would_rather_not_wait_gets_an_error_and_no_job(queue: Queue) -> None:
    pids: list[int] = []
    with threads(1) as start, transaction.atomic():
        queue.enqueue("test.ok", {"by": "a"}, idempotency_key="k")
        future = start(enqueue_in, "READ COMMITTED", queue, pids, "50ms")
        assert isinstance(future.exception(20), OperationalError)

    assert ProcessingJob.objects.get().payload == {"by": "a"}


def test_callers_at_one_moment_all_get_the_one_job_and_their_other_writes_commit(queue: Queue) -> None:
    rounds, callers = 15, 6

    def work(number: int) -> list[tuple[int, bool]]:
        answers = []
        for turn in range(rounds):
            with transaction.atomic():
                Group.objects.create(name=f"{turn} {number}")
                job = queue.enqueue("test.ok", {}, idempotency_key=f"round {turn}")
            answers.append((job.pk, job.created))
        return answers

    answers = together(callers, work)

    assert Group.objects.count() == rounds * callers
    for turn in zip(*answers, strict=True):
        assert len({pk for pk, _ in turn}) == 1
        assert sum(created for _, created in turn) == 1
    assert ProcessingJob.objects.count() == rounds


@pytest.mark.parametrize("state", ["processing", "succeeded", "dead_letter", "cancelled"])
def test_callers_at_one_moment_get_the_job_that_is_there_whatever_its_state(
    queue: Queue, jobs: Jobs, state: str
) -> None:
    job = getattr(jobs, state)(idempotency_key="k")

    made = together(6, lambda number: queue.enqueue("test.ok", {}, idempotency_key="k"))

    assert {(answer.pk, answer.created) for answer in made} == {(job.pk, False)}


def test_a_key_that_is_pruned_while_the_race_runs_still_answers_everybody(queue: Queue) -> None:
    def enqueue_and_prune(number: int) -> bool:
        for _ in range(40):
            job = queue.enqueue("test.ok", {}, idempotency_key="k")
            assert job.pk
            ProcessingJob.objects.filter(idempotency_key="k").delete()
        return True

    assert all(together(4, enqueue_and_prune))


def test_batches_with_the_same_keys_in_the_same_order_agree(queue: Queue) -> None:
    specs = [JobSpec("test.ok", {}, f"key {number}") for number in range(50)]

    answers = together(6, lambda number: [job.pk for job in queue.enqueue_many(specs)])

    assert len({tuple(answer) for answer in answers}) == 1
    assert ProcessingJob.objects.count() == 50


def test_a_known_key_is_answered_while_somebody_has_written_to_its_jobs_row(queue: Queue) -> None:
    """A handler's long transaction about its own job makes nobody wait who enqueues the same key."""
    job = queue.enqueue("test.ok", {}, idempotency_key="k")
    with threads(1) as start, transaction.atomic():
        ProcessingJob.objects.filter(pk=job.pk).update(progress=50)
        specs = [JobSpec("test.ok", {}, "k"), JobSpec("test.ok", {}, "new")]
        found = start(queue.enqueue_many, specs).result(20)
    assert [(each.pk == job.pk, each.created) for each in found] == [(True, False), (False, True)]
