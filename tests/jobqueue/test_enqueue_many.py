"""Putting many jobs in at once: answers by position, and a number of statements that doesn't grow."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobqueue.exceptions import InvalidJob
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows.inserts import COPY_FROM
from tests.jobqueue.jobs import Jobs, columns, row

STORABLE_NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=100)


def numbered(count: int, **options: Any) -> list[JobSpec]:
    return [JobSpec("test.ok", {"number": number}, **options) for number in range(count)]


def test_each_job_comes_back_at_the_position_of_its_spec(queue: Queue) -> None:
    made = queue.enqueue_many(numbered(50))

    assert [row(job).payload["number"] for job in made] == list(range(50))
    assert all(job.created for job in made)
    assert [job.pk for job in made] == sorted({job.pk for job in made})


def test_specs_may_differ_in_everything(queue: Queue) -> None:
    later = datetime(2099, 1, 1, tzinfo=UTC)
    made = queue.enqueue_many(
        [
            JobSpec("test.a", {}, None, "q1", -5, None, 1),
            JobSpec("test.b", {"ü": []}, "key", "q2", 5, later, 9),
        ]
    )

    for job in made:
        assert {name: getattr(job, name) for name in columns(job)} == columns(job)
    assert (made[1].idempotency_key, made[1].available_at, made[1].max_attempts) == ("key", later, 9)


def test_a_key_repeated_in_the_batch_makes_one_job_and_answers_with_it_each_time(queue: Queue) -> None:
    keys = ["a", "b", None, "a", None, "b", "a"]
    made = queue.enqueue_many([JobSpec("test.ok", {"at": at}, key) for at, key in enumerate(keys)])

    assert [row(job).payload["at"] for job in made] == [0, 1, 2, 0, 4, 1, 0]
    assert ProcessingJob.objects.count() == 4


def test_known_keys_answer_with_the_existing_jobs_and_the_others_are_made(queue: Queue, jobs: Jobs) -> None:
    finished, running = jobs.succeeded(idempotency_key="finished"), jobs.processing(idempotency_key="running")

    made = queue.enqueue_many(
        [JobSpec("test.ok", {}, key) for key in ("new", "finished", "running")] + [JobSpec("test.ok", {})]
    )

    assert [job.created for job in made] == [True, False, False, True]
    assert [job.pk for job in made[1:3]] == [finished.pk, running.pk]
    assert made[2].status == "processing"


@pytest.mark.parametrize(("count", "statements"), [(1, 1), (COPY_FROM - 1, 1), (COPY_FROM, 2), (500, 2)])
def test_the_number_of_statements_does_not_grow_with_the_batch(
    queue: Queue, count: int, statements: int, django_assert_num_queries: Any
) -> None:
    savepoint_and_release = 2
    with django_assert_num_queries(statements + savepoint_and_release):
        queue.enqueue_many(numbered(count))


@given(name=STORABLE_NAMES, text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@example(name="\\.", text="\\.\n\t\r\\N")
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_large_batch_stores_what_a_small_one_does(queue: Queue, name: str, text: str) -> None:
    due = datetime(2030, 5, 1, 12, tzinfo=UTC)
    spec = JobSpec(name, {"text": [text, None, 1.5]}, None, name, -7, due, 3)

    (alone,) = queue.enqueue_many([spec])
    many = queue.enqueue_many([spec] * COPY_FROM)

    expected = columns(alone) | {"id": many[-1].pk, "created_at": many[-1].created_at}
    assert columns(many[-1]) == expected
    assert all(getattr(many[-1], column) == value for column, value in expected.items())


@pytest.mark.parametrize("count", [1, 10, 500])
def test_known_keys_cost_one_more_statement_however_many_they_are(
    queue: Queue, count: int, django_assert_num_queries: Any
) -> None:
    specs = [JobSpec("test.ok", {}, f"key {number}") for number in range(count)]
    before = queue.enqueue_many(specs)

    with django_assert_num_queries(2 + 2):
        again = queue.enqueue_many([JobSpec("test.ok", {}), *specs])

    assert [job.pk for job in again[1:]] == [job.pk for job in before]


def test_an_empty_batch_is_an_empty_answer(queue: Queue) -> None:
    assert queue.enqueue_many([]) == []


def test_a_batch_may_come_from_a_generator(queue: Queue) -> None:
    assert len(queue.enqueue_many(spec for spec in numbered(3))) == 3


def test_a_key_with_two_types_in_one_batch_is_refused_and_nothing_is_made(queue: Queue) -> None:
    with transaction.atomic():
        with pytest.raises(InvalidJob, match=r"key 'k' belongs to job \d+ of type 'test.ok', not 'test.sleep'"):
            queue.enqueue_many([JobSpec("test.ok", {}), JobSpec("test.ok", {}, "k"), JobSpec("test.sleep", {}, "k")])

        assert ProcessingJob.objects.count() == 0
        queue.enqueue("test.ok", {}, idempotency_key="k")
    assert ProcessingJob.objects.count() == 1
