"""What a known idempotency key does when somebody asks for more than its job: replace it, be told, or have it anew."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.utils import timezone

from dms_project.tenancy import use
from jobqueue.exceptions import InvalidJob, KeyTaken, LockLost
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.task_api import InvalidTask
from jobqueue.tenants.models import Wakeup
from tests.jobqueue.jobs import Jobs, columns, row
from tests.testjobs import tasks

ENDED = ["succeeded", "discarded", "cancelled"]
ACTIVE = ["pending", "processing", "dead_letter"]


def again(queue: Queue, **options: Any) -> ProcessingJob:
    return queue.enqueue("test.ok", {"new": True}, idempotency_key="k", **options)


@pytest.mark.parametrize("state", [*ACTIVE, *ENDED])
def test_whoever_asks_to_be_told_is_told_and_the_transaction_goes_on(queue: Queue, jobs: Jobs, state: str) -> None:
    job = getattr(jobs, state)(idempotency_key="k")
    before = columns(job)
    with transaction.atomic():
        with pytest.raises(KeyTaken, match=rf"'k' belongs to job {job.pk}, which is {row(job).status}"):
            again(queue, if_known="raise")
        assert queue.enqueue("test.ok", {}, idempotency_key="other", if_known="raise").created
    assert columns(job) == before


def test_a_pending_job_is_replaced_as_if_the_new_one_had_come_first(queue: Queue) -> None:
    old = queue.enqueue("test.ok", {"old": True}, idempotency_key="k", priority=3, max_attempts=2)
    queue.fail(queue.dequeue("w"), "once")
    at = timezone.now() + timedelta(hours=1)

    new = again(queue, if_known="replace", queue_name="slow", available_at=at)

    assert (new.pk, new.created) == (old.pk, False)
    changed = row(old)
    assert (changed.payload, changed.queue_name, changed.priority, changed.available_at) == (
        {"new": True},
        "slow",
        0,
        at,
    )
    assert (changed.attempts, changed.max_attempts, changed.last_error, changed.history) == (0, 5, "", [])
    assert ProcessingJob.objects.count() == 1


def test_what_runs_is_not_replaced_but_leaves_the_key_to_a_new_job(queue: Queue, jobs: Jobs) -> None:
    """Whoever changes something while it is being worked on wants it worked on again."""
    running = jobs.processing(idempotency_key="k")

    new = again(queue, if_known="replace")

    assert new.created
    assert new.pk != running.pk
    assert again(queue, if_known="replace").pk == new.pk, "and no third one"
    queue.complete(running)
    assert row(running).status == "succeeded"


@pytest.mark.parametrize("state", ["dead_letter", *ENDED])
def test_what_has_ended_or_waits_for_a_person_is_not_replaced(queue: Queue, jobs: Jobs, state: str) -> None:
    job = getattr(jobs, state)(idempotency_key="k")
    before = columns(job)
    assert (again(queue, if_known="replace").pk, columns(job)) == (job.pk, before)


@pytest.mark.parametrize("if_known", ["return", "replace", "raise"])
@pytest.mark.parametrize("state", ENDED)
def test_a_key_while_active_is_free_when_its_job_has_ended(queue: Queue, jobs: Jobs, state: str, if_known: str) -> None:
    job = getattr(jobs, state)(idempotency_key="k")
    new = again(queue, key_while_active=True, if_known=if_known)
    assert new.created
    assert row(job).idempotency_key is None
    assert again(queue).pk == new.pk


@pytest.mark.parametrize("state", ACTIVE)
def test_a_key_while_active_is_its_jobs_until_that_has_ended(queue: Queue, jobs: Jobs, state: str) -> None:
    """A dead letter may be requeued, and would then be a second one."""
    job = getattr(jobs, state)(idempotency_key="k")
    assert again(queue, key_while_active=True).pk == job.pk


def test_a_batch_answers_each_spec_by_its_own_policy(queue: Queue, jobs: Jobs) -> None:
    done, waiting = jobs.succeeded(idempotency_key="done"), jobs.pending(idempotency_key="waiting")
    made = queue.enqueue_many(
        [
            JobSpec("test.ok", {}, "done", key_while_active=True),
            JobSpec("test.ok", {"new": True}, "waiting", if_known="replace"),
            JobSpec("test.ok", {}),
        ]
    )
    assert [job.created for job in made] == [True, False, True]
    assert made[1].pk == waiting.pk
    assert row(waiting).payload == {"new": True}
    with pytest.raises(KeyTaken):
        queue.enqueue_many([JobSpec("test.ok", {}, "fresh"), JobSpec("test.ok", {}, "done", if_known="raise")])
    assert not ProcessingJob.objects.filter(idempotency_key="fresh").exists(), "all or none"
    assert row(done).status == "succeeded"


def test_another_type_and_policies_that_mean_nothing_are_refused(queue: Queue, jobs: Jobs) -> None:
    jobs.pending("test.sleep", idempotency_key="k")
    with pytest.raises(InvalidJob, match=r"of type 'test\.sleep'"):
        again(queue, if_known="replace")
    with pytest.raises(InvalidJob, match="it must be one of 'return', 'replace', 'raise'"):
        again(queue, if_known="ignore")
    with pytest.raises(InvalidJob, match="key_while_active must be a bool"):
        again(queue, key_while_active="yes")
    with pytest.raises(InvalidTask, match="if_known is 'ignore'"):
        tasks.add.using(if_known="ignore")


def test_tasks_have_the_same_options(queue: Queue) -> None:
    keyed = tasks.add.using(idempotency_key="sum", if_known="replace")
    first = keyed.enqueue(1, 2)
    assert keyed.enqueue(3, 4).id == first.id
    assert tasks.add.get_result(first.id).args == [3, 4]
    with pytest.raises(KeyTaken):
        keyed.using(if_known="raise").enqueue(1, 2)


def test_who_is_put_into_another_queue_is_noticed_where_that_was_paused(queue: Queue, tenant: str) -> None:
    queue.enqueue("test.ok", {}, idempotency_key="k", queue_name="paused")
    Wakeup.objects.filter(tenant=tenant).delete()  # as a worker does that finds the queue paused
    again(queue, if_known="replace", queue_name="open")
    assert Wakeup.objects.filter(tenant=tenant).exists()


@pytest.mark.parametrize("options", [{"if_known": "replace"}, {"key_while_active": True}], ids=["replace", "active"])
def test_of_callers_at_one_moment_each_gets_a_job_and_one_is_left_with_the_key(
    committed_db: None, options: dict[str, Any]
) -> None:
    barrier, answers = threading.Barrier(4), []
    with use("acme"):
        for _ in range(5):
            ended = Queue().enqueue("test.ok", {}, idempotency_key="k", key_while_active=True)
            Queue().cancel(ended.pk)

    def call() -> None:
        try:
            with use("acme"):
                barrier.wait()
                answers.append(again(Queue(), **(options | {"key_while_active": True})).pk)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with use("acme"):
        (left,) = ProcessingJob.objects.filter(idempotency_key="k")
        assert set(answers) == {left.pk}
        assert len(answers) == 4
        assert ProcessingJob.objects.filter(status="pending").count() == 1


def test_a_job_that_begins_while_it_is_being_replaced_keeps_what_it_has(queue: Queue, jobs: Jobs) -> None:
    running = jobs.processing(idempotency_key="k")
    token = running.lock_token
    again(queue, if_known="replace")
    assert row(running).lock_token == token
    queue.complete(running)
    with pytest.raises(LockLost):
        queue.fail(running, "too late")
