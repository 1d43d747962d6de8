"""Many successes in one statement: fenced one by one, whatever became of the others."""

from typing import Any

import psycopg
import pytest
from django.db import transaction

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.jobs import MINUTES, Jobs, age_lock, columns, row


def claim(queue: Queue, count: int) -> list[ProcessingJob]:
    queue.enqueue_many(JobSpec("test.ok", {"n": n}) for n in range(count))
    claimed = queue.dequeue_many("w1", count)
    assert len(claimed) == count
    return claimed


def test_each_row_says_what_complete_would_have_said(queue: Queue, jobs: Jobs) -> None:
    alone = jobs.processing()
    queue.complete(alone, {"pages": 3})
    expected = columns(alone)
    batch = claim(queue, 3)

    done = queue.complete_many([(job, {"pages": 3}) for job in batch])

    assert (done.recorded, done.lost, done.locked) == (batch, [], [])
    changing = {"id", "payload", "priority", "lock_token", "history"} | {
        name for name in expected if name.endswith("_at")
    }
    for job in batch:
        now = columns(job)
        assert {n: v for n, v in now.items() if n not in changing} == {
            n: v for n, v in expected.items() if n not in changing
        }
        (entry,) = now["history"]
        assert (entry["attempt"], entry["worker"], entry["outcome"], entry["error"]) == (1, "w1", "succeeded", "")
        assert now["finished_at"] is not None


def test_each_gets_its_own_result(queue: Queue) -> None:
    results: list[Any] = [None, 0, "text", {"a": [1]}, object(), "nul\0"]
    batch = claim(queue, len(results))

    queue.complete_many(list(zip(batch, results, strict=True)))

    stored = [row(job).result for job in batch]
    assert stored[:4] == results[:4]
    assert [value["unstorable_result"] for value in stored[4:]] == ["object", "str"]


def test_what_others_did_to_some_is_no_obstacle_to_the_rest(queue: Queue) -> None:
    good, cancelled, stale, failed, released = claim(queue, 5)
    queue.cancel(cancelled.pk)
    age_lock(stale, MINUTES)
    (again,) = queue.dequeue_many("w2", 1)
    queue.fail(failed, "boom")
    queue.release([released])
    before = {job.pk: columns(job) for job in (cancelled, stale, failed, released)}

    done = queue.complete_many([(job, None) for job in (good, cancelled, stale, failed, released)])

    assert again.pk == stale.pk
    assert done.recorded == [good]
    assert done.lost == [cancelled, stale, failed, released]
    assert {pk: columns(ProcessingJob(pk=pk)) for pk in before} == before


def test_an_old_and_the_new_claim_of_one_job_may_come_together(queue: Queue, jobs: Jobs) -> None:
    old = jobs.processing()
    age_lock(old, MINUTES)
    new = queue.dequeue("w2")
    assert new.pk == old.pk

    done = queue.complete_many([(old, "old"), (new, "new")])

    assert (done.recorded, done.lost) == ([new], [old])
    assert row(new).result == "new"


def test_it_can_be_repeated_since_the_answer_to_a_commit_may_be_lost(queue: Queue) -> None:
    batch = claim(queue, 3)
    queue.complete_many([(job, 1) for job in batch])
    before = [columns(job) for job in batch]

    done = queue.complete_many([(job, 2) for job in batch])

    assert (done.recorded, done.lost, done.locked) == (batch, [], [])
    assert [columns(job) for job in batch] == before


def test_a_job_completed_in_its_handlers_transaction_is_recorded_once(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    queue.complete(job, "by the handler")

    done = queue.complete_many([(job, "by the worker")])

    assert done.recorded == [job]
    assert row(job).result == "by the handler"
    assert len(row(job).history) == 1


def test_nothing_is_asked_for_nothing(queue: Queue, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        assert queue.complete_many([]).recorded == []


@pytest.mark.parametrize("count", [1, 200])
def test_all_on_record_is_one_statement(queue: Queue, count: int, django_assert_num_queries: Any) -> None:
    batch = claim(queue, count)
    with django_assert_num_queries(1):
        assert len(queue.complete_many([(job, None) for job in batch]).recorded) == count


def test_a_row_that_another_transaction_has_locked_is_left_for_the_next_round(
    committed_db: None, database_url: str
) -> None:
    with use("acme"), psycopg.connect(database_url) as other:
        queue = Queue()
        free, locked = claim(queue, 2)
        other.execute("SELECT FROM acme.processing_jobs WHERE id = %s FOR UPDATE", [locked.pk])

        with transaction.atomic():
            first = queue.complete_many([(free, None), (locked, None)])
        other.rollback()
        second = queue.complete_many([(locked, None)])

        assert (first.recorded, first.locked) == ([free], [locked])
        assert second.recorded == [locked]
