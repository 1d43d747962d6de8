"""What no code may write, the table itself refuses, each rule by its name."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models.functions import Now

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus
from tests.jobqueue.jobs import Jobs, columns

IMPOSSIBLE: list[tuple[str, str, dict[str, Any]]] = [
    ("status_is_known", "pending", {"status": "done"}),
    ("status_is_known", "pending", {"status": ""}),
    ("processing_iff_locked", "pending", {"locked_at": Now(), "locked_by": "w1"}),
    ("processing_iff_locked", "pending", {"locked_by": "w1"}),
    ("processing_iff_locked", "pending", {"status": "processing"}),
    ("processing_iff_locked", "processing", {"locked_at": None}),
    ("processing_iff_locked", "processing", {"locked_by": None}),
    ("processing_iff_locked", "processing", {"status": "pending"}),
    ("processing_iff_locked", "processing", {"status": "dead_letter"}),
    ("processing_iff_locked", "processing", {"status": "succeeded", "finished_at": Now()}),
    ("processing_iff_locked", "succeeded", {"locked_at": Now(), "locked_by": "w1"}),
    ("finished_iff_final", "pending", {"finished_at": Now()}),
    ("finished_iff_final", "pending", {"status": "succeeded"}),
    ("finished_iff_final", "pending", {"status": "failed"}),
    ("finished_iff_final", "processing", {"finished_at": Now()}),
    ("finished_iff_final", "dead_letter", {"finished_at": Now()}),
    ("finished_iff_final", "succeeded", {"finished_at": None}),
    ("finished_iff_final", "discarded", {"finished_at": None}),
    ("attempts_within_max", "processing", {"attempts": 6}),
    ("attempts_within_max", "processing", {"attempts": -1}),
    ("attempts_within_max", "dead_letter", {"max_attempts": 0, "attempts": 0}),
    ("pending_has_attempts_left", "pending", {"attempts": 5}),
    ("priority_in_range", "pending", {"priority": 101}),
    ("priority_in_range", "pending", {"priority": -101}),
    ("concurrency_key_has_limit", "pending", {"concurrency_key": "k"}),
    ("concurrency_key_has_limit", "pending", {"concurrency_key": "k", "concurrency_limit": 0}),
    ("concurrency_slot_only_while_processing", "pending", {"concurrency_slot": 1}),
    ("concurrency_slot_only_while_processing", "processing", {"concurrency_slot": 1}),
    ("blocked_only_while_pending", "pending", {"blocked_due_at": Now()}),
]


@pytest.mark.parametrize(("constraint", "state", "changes"), IMPOSSIBLE)
def test_an_impossible_row_is_refused_by_the_name_of_the_rule(
    jobs: Jobs, constraint: str, state: str, changes: dict[str, Any]
) -> None:
    job = getattr(jobs, state)()
    before = columns(job)

    with pytest.raises(IntegrityError, match=f'"{constraint}"'), transaction.atomic():
        ProcessingJob.objects.filter(pk=job.pk).update(**changes)

    assert columns(job) == before


def test_every_named_rule_is_tried_above() -> None:
    named = {constraint.name for constraint in ProcessingJob._meta.constraints}

    assert named == {name for name, _, _ in IMPOSSIBLE} | {
        "idempotency_key_is_unique",
        "concurrency_slot_is_held_once",  # in test_concurrency_keys
    }


def test_a_second_row_with_a_key_is_refused_by_name(queue: Queue, jobs: Jobs) -> None:
    jobs.pending(idempotency_key="k")

    with pytest.raises(IntegrityError, match='"idempotency_key_is_unique"'), transaction.atomic():
        ProcessingJob.objects.create(job_type="test.ok", idempotency_key="k")


@pytest.mark.parametrize("column", ["job_type", "queue_name", "idempotency_key", "locked_by"])
def test_a_text_that_is_too_long_is_refused_by_the_table_too(jobs: Jobs, column: str) -> None:
    job = jobs.processing()

    with pytest.raises(DataError, match="too long"), transaction.atomic():
        ProcessingJob.objects.filter(pk=job.pk).update(**{column: "x" * 300})


def test_a_row_inserted_by_plain_sql_gets_the_defaults(queue: Queue) -> None:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO processing_jobs (job_type, payload) VALUES ('test.ok', '{}')")

    job = queue.dequeue("w1")
    assert (job.queue_name, job.priority, job.max_attempts, job.history) == ("default", 0, 5, [])


def test_the_five_states_are_those_of_the_contract() -> None:
    assert set(JobStatus.values) == {"pending", "processing", "succeeded", "dead_letter", "failed"}


def test_a_token_may_stand_on_a_finished_row(jobs: Jobs) -> None:
    job = jobs.succeeded()

    assert ProcessingJob.objects.filter(pk=job.pk).update(lock_token=uuid4()) == 1
