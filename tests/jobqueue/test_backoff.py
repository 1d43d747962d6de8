"""Q24: the delay before the next attempt is arithmetic that the database does, and no number of attempts breaks it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobqueue.backoff import Backoff, constant, default, linear, next_delay
from jobqueue.models import MAX_ATTEMPTS_LIMIT, ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs, row

ATTEMPTS = 2000
YEARS_100 = timedelta(days=36_500)


@pytest.fixture
def tried_1_to_2000_times(queue: Queue) -> None:
    """One row for each number of attempts."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO processing_jobs (job_type, payload, status, attempts, max_attempts)"
            " SELECT 'test.ok', '{}', 'dead_letter', n, 10000 FROM generate_series(1, %s) AS n",
            [ATTEMPTS],
        )


def delays(policy: Backoff) -> list[timedelta]:
    """Return what the database says for 1 to 2000 attempts."""
    return list(ProcessingJob.objects.order_by("attempts").values_list(next_delay(policy), flat=True))


def test_the_default_is_thirty_seconds_per_attempt_up_to_ten(tried_1_to_2000_times: None) -> None:
    assert delays(default) == [timedelta(seconds=30 * min(attempt, 10)) for attempt in range(1, ATTEMPTS + 1)]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(step=st.timedeltas(timedelta(0), YEARS_100 / 1000), cap=st.integers(1, 1000))
def test_a_linear_delay_never_shrinks_and_stops_at_its_cap(
    tried_1_to_2000_times: None, step: timedelta, cap: int
) -> None:
    got = delays(linear(step, cap=cap))

    assert got == sorted(got)
    assert got[0] == step
    assert got[cap - 1 :] == [step * cap] * (ATTEMPTS - cap + 1)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(delay=st.timedeltas(timedelta(0), YEARS_100))
def test_a_constant_delay_is_the_same_after_any_attempt(tried_1_to_2000_times: None, delay: timedelta) -> None:
    assert set(delays(constant(delay))) == {delay}


def test_a_job_tried_very_often_is_retried_and_then_a_dead_letter(queue: Queue, jobs: Jobs) -> None:
    job = jobs.pending("test.unknown", max_attempts=MAX_ATTEMPTS_LIMIT)
    ProcessingJob.objects.update(attempts=MAX_ATTEMPTS_LIMIT - 2)

    assert queue.fail(jobs.claim(job), "the last but one") == "pending"
    due_in_five_minutes = ProcessingJob.objects.filter(
        available_at__gt=Now() + timedelta(seconds=290), available_at__lte=Now() + timedelta(seconds=300)
    )
    assert due_in_five_minutes.exists()

    ProcessingJob.objects.update(available_at=Now())
    assert queue.fail(jobs.claim(job), "the last") == "dead_letter"
    assert row(job).attempts == MAX_ATTEMPTS_LIMIT


def test_the_delay_is_computed_by_the_statement_that_records_the_failure(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing(job_type="test.unknown")
    with CaptureQueriesContext(connection) as queries:
        queue.fail(job, "boom")

    assert len(queries) == 1
    assert "LEAST" in queries[0]["sql"]
