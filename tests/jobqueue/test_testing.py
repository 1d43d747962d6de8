"""The test kit: what it runs in a test's transaction, and what its assertions say."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from jobqueue.handlers import registered
from jobqueue.queue import JobSpec, Queue
from jobqueue.testing import JobsFailed, assert_enqueued, assert_not_enqueued, enqueued, immediate, let_pass, run_jobs
from tests.testjobs import ledger, tasks


@pytest.fixture(autouse=True)
def _ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where handlers of tests write what they do."""
    monkeypatch.setenv(ledger.VARIABLE, str(tmp_path / "ledger"))


def test_due_jobs_run_in_the_tests_transaction_with_those_they_enqueue(queue: Queue) -> None:
    first = queue.enqueue("test.enqueue", {"key": "follows", "then": "commit"})
    later = queue.enqueue("test.ok", {}, available_at=first.created_at + timedelta(hours=1))
    unknown = queue.enqueue("test.unknown", {})

    ran = run_jobs()

    assert [job.job_type for job in ran] == ["test.enqueue", "test.ok"]
    assert all((job.status, job.attempts, job.history[0]["worker"]) == ("succeeded", 1, "test") for job in ran)
    assert {queue.status(later.pk), queue.status(unknown.pk)} == {"pending"}
    assert connection.in_atomic_block

    let_pass(timedelta(hours=1))
    assert [job.pk for job in run_jobs()] == [later.pk]


def test_only_what_is_asked_for_runs(queue: Queue) -> None:
    slow = queue.enqueue("test.ok", {}, queue_name="slow")
    added = tasks.add.enqueue(1)
    assert [job.pk for job in run_jobs(queue_names=["slow"])] == [slow.pk]
    assert [str(job.pk) for job in run_jobs(job_types=["tests.testjobs.tasks.add"])] == [added.id]


def test_a_failure_is_recorded_and_fails_the_test_with_its_traceback(queue: Queue) -> None:
    result = tasks.fail.using(max_attempts=1).enqueue("no luck")

    with pytest.raises(JobsFailed) as failed:
        run_jobs()

    assert f"tests.testjobs.tasks.fail {result.id}, attempt 1 of 1, now dead_letter: ValueError: no luck" in str(
        failed.value
    )
    assert "raise ValueError(message)" in str(failed.value)
    assert queue.status(int(result.id)) == "dead_letter"


def test_the_next_attempt_comes_when_the_backoff_has_passed(queue: Queue) -> None:
    result = tasks.break_the_transaction.enqueue()
    for attempts in (1, 2):
        assert [job.attempts for job in run_jobs(allow_failures=True)] == [attempts]
        let_pass(timedelta(minutes=attempts))
    assert queue.get(int(result.id)).attempts == 2


def test_a_job_that_breaks_the_transaction_fails_alone(queue: Queue) -> None:
    broken = tasks.break_the_transaction.enqueue()
    fine = tasks.add.enqueue(1)

    ran = run_jobs(allow_failures=True)

    assert [(str(job.pk), job.status) for job in ran] == [(broken.id, "pending"), (fine.id, "succeeded")]
    assert "division by zero" in ran[0].last_error


def test_a_job_that_enqueues_itself_for_ever_is_found_out(queue: Queue) -> None:
    tasks.again.enqueue()
    with pytest.raises(AssertionError, match=r"3 jobs have run and more are due: does .*again .* enqueue itself"):
        run_jobs(at_most=3)


def test_jobs_run_at_once_in_immediate_mode(queue: Queue) -> None:
    with immediate():
        result = tasks.add.enqueue(20, 22)
        jobs = queue.enqueue_many([JobSpec("test.ok", {}), JobSpec("test.ok", {})])
        with pytest.raises(JobsFailed):
            tasks.fail.using(max_attempts=1).enqueue("no")

    assert result.return_value == 42
    assert [job.status for job in jobs] == ["succeeded"] * 2
    assert tasks.add.enqueue(1).status == "READY"


def test_assertions_find_jobs_by_type_handler_or_task(queue: Queue) -> None:
    assert_not_enqueued()
    job = queue.enqueue("test.ok", {"a": 1, "b": {"c": 2}}, queue_name="slow")
    result = tasks.add.using(priority=5).enqueue(1, other=2)
    handler = registered()["test.ok"].function

    for what in ("test.ok", handler):
        assert assert_enqueued(what, {"a": 1}, times=1, queue_name="slow") == job
    assert str(assert_enqueued(tasks.add, args=[1], kwargs={"other": 2}, priority=5).pk) == result.id
    assert [job.pk for job in enqueued()] == [job.pk, int(result.id)]
    assert_not_enqueued(tasks.add, args=[2])
    assert_not_enqueued("test.ok", {"a": 2})
    with pytest.raises(TypeError, match="neither a job type nor a registered handler or task"):
        assert_enqueued(print)


def test_a_failed_assertion_says_what_is_there_instead(queue: Queue) -> None:
    with pytest.raises(AssertionError, match="The queue is empty"):
        assert_enqueued("test.ok")
    job = queue.enqueue("test.ok", {"a": 1})

    def message(call: Any, *arguments: Any, **options: Any) -> str:
        with pytest.raises(AssertionError) as failed:
            call(*arguments, **options)
        return str(failed.value)

    line = f'  test.ok {job.pk}, pending, queue default, payload {{"a": 1}}'
    assert message(assert_enqueued, "test.ok", {"a": 2}) == (
        f'Enqueued 0 times instead of at least one: test.ok, payload with {{"a": 2}}\nWhat is in the queue:\n{line}'
    )
    assert message(assert_enqueued, "test.ok", times=2).startswith("Enqueued 1 times instead of 2: test.ok\n")
    assert message(assert_not_enqueued, "test.ok", priority=0) == (
        f"Enqueued all the same: test.ok, priority 0\n{line}"
    )


class TestPlugin:
    """The same by fixtures."""

    from jobqueue.testing.plugin import immediate_jobs, run_jobs

    def test_it_runs_jobs(self, tenant: str, run_jobs: Any) -> None:
        tasks.add.enqueue(1)
        assert len(run_jobs()) == 1

    @pytest.mark.usefixtures("immediate_jobs")
    def test_it_runs_them_at_once(self, tenant: str) -> None:
        assert tasks.add.enqueue(1).return_value == 1
