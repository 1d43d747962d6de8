"""The test kit's clock and its crashes: what is moved, who dies where, and what comes after by the real path."""

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from jobqueue import schedules
from jobqueue.control.timeline import timeline
from jobqueue.flows import chain
from jobqueue.handlers import registered
from jobqueue.models import FlowStep, JobFlow, PausedQueue, ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.schedules import every, schedule
from jobqueue.testing import JobsFailed, QueueClock, crash_worker, let_pass, run_jobs
from tests.testjobs import ledger, tasks

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where handlers of tests write what they do."""
    monkeypatch.setenv(ledger.VARIABLE, str(tmp_path / "ledger"))


class TestTime:
    def test_it_passes_for_all_that_is_written_down(self, queue: Queue) -> None:
        queue.enqueue("test.ok", {})
        (done,) = run_jobs()
        later = queue.enqueue("test.ok", {}, available_at=timezone.now() + HOUR)
        queue.pause("slow")
        since = PausedQueue.objects.get().paused_at

        let_pass(HOUR)

        aged = queue.get(done.pk)
        for name in ("created_at", "available_at", "started_at", "finished_at"):
            assert getattr(aged, name) == getattr(done, name) - HOUR, name
        assert aged.locked_at is None
        events = timeline(aged)
        assert [event.at for event in events] == sorted(event.at for event in events)
        assert {event.at < timezone.now() - HOUR + timedelta(minutes=5) for event in events} == {True}
        assert PausedQueue.objects.get().paused_at == since - HOUR
        assert [job.pk for job in run_jobs()] == [later.pk]

    def test_it_passes_for_flows_too(self, queue: Queue) -> None:
        queue.enqueue_flow(chain(JobSpec("test.ok", {}), JobSpec("test.ok", {})))
        run_jobs()
        begun, ended = JobFlow.objects.get().created_at, FlowStep.objects.earliest("position").done_at

        let_pass(HOUR)

        assert JobFlow.objects.get().created_at == begun - HOUR
        assert ended is not None
        assert FlowStep.objects.earliest("position").done_at == ended - HOUR

    def test_it_passes_forwards_alone(self, queue: Queue) -> None:
        for duration in (timedelta(0), -HOUR):
            with pytest.raises(ValueError, match=r"Time passes forwards: datetime\.timedelta"):
                let_pass(duration)

    def test_schedules_have_one_job_for_a_time_and_after_a_leap_the_latest(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(schedules, "_schedules", {})
        schedule("hourly", every(HOUR), JobSpec("test.ok", {}))
        clock = QueueClock()
        began = clock.now

        first = clock.advance(HOUR)
        leap = clock.advance(5 * HOUR)

        assert (len(first), len(leap)) == (1, 1)
        assert [job.pk for job in run_jobs()] == [*first, *leap]
        jobs = ProcessingJob.objects.in_bulk([*first, *leap])
        slots = [datetime.fromisoformat(str(jobs[pk].idempotency_key).split()[1]) for pk in (*first, *leap)]
        assert slots[1] - slots[0] in (5 * HOUR, 6 * HOUR)  # six if the hour has just turned
        assert clock.now - HOUR < slots[1] <= clock.now
        assert clock.now - began >= 6 * HOUR


class TestDeath:
    def test_a_job_that_was_claimed_comes_back_when_its_lock_is_stale(self, queue: Queue) -> None:
        job = queue.enqueue("test.ok", {})

        dead = crash_worker("claimed")

        assert (dead.pk, dead.status, dead.attempts, dead.locked_by) == (job.pk, "processing", 1, "test")
        assert run_jobs() == []
        let_pass(timedelta(minutes=2))
        (ran,) = run_jobs()
        assert (ran.status, ran.attempts) == ("succeeded", 2)
        assert ran.history[0]["outcome"] == "worker_died"

    def test_in_the_handler_an_open_transaction_is_rolled_back(self, queue: Queue) -> None:
        queue.enqueue("test.enqueue", {"key": "k", "then": "commit"})

        crash_worker("handling", before="django.db.transaction.set_rollback")
        assert ProcessingJob.objects.filter(idempotency_key="k").count() == 0

        let_pass(timedelta(minutes=2))
        assert [job.job_type for job in run_jobs()] == ["test.enqueue", "test.ok"]

    def test_what_the_handler_did_before_stays(self, queue: Queue) -> None:
        tasks.add_async.enqueue(1)
        seen = crash_worker("handling", after="asyncio.sleep")
        assert (seen.status, seen.result) == ("processing", None)

    def test_a_handler_that_has_returned_runs_again(self, queue: Queue) -> None:
        job = queue.enqueue("test.ok", {})
        assert crash_worker("handled").status == "processing"
        let_pass(timedelta(minutes=2))
        assert [ran.pk for ran in run_jobs()] == [job.pk]
        assert len(ledger.read(Path(os.environ[ledger.VARIABLE]), "end")) == 2

    def test_a_job_that_kills_each_worker_is_a_dead_letter(self, queue: Queue) -> None:
        job = queue.enqueue("test.ok", {}, max_attempts=2)
        for _ in range(2):
            crash_worker("claimed")
            let_pass(timedelta(minutes=2))
        assert run_jobs() == []
        assert queue.status(job.pk) == "dead_letter"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"moment": "eating"}, "'eating' is no moment to die at: say 'claimed', 'handling' or 'handled'"),
            ({"moment": "handling"}, "needs one call, as in crash_worker"),
            ({"moment": "handling", "before": "os.kill", "after": "os.kill"}, "needs one call"),
            ({"moment": "claimed", "before": "os.kill"}, "the other moments need none"),
        ],
    )
    def test_what_makes_no_sense_is_said_and_claims_nothing(
        self, queue: Queue, arguments: dict[str, Any], message: str
    ) -> None:
        job = queue.enqueue("test.ok", {})
        with pytest.raises(ValueError, match=message):
            crash_worker(**arguments)
        assert queue.status(job.pk) == "pending"

    def test_a_worker_that_could_not_die_is_told_with_the_reason(self, queue: Queue) -> None:
        with pytest.raises(AssertionError, match=r"No job is due, so no worker can die with one. The queue is empty."):
            crash_worker("claimed")
        job = queue.enqueue("test.ok", {})
        with pytest.raises(
            AssertionError, match=f"test.ok {job.pk} ended without calling os.kill, .* there. It succeeded."
        ):
            crash_worker("handling", before="os.kill")
        tasks.fail.enqueue("no luck")
        with pytest.raises(JobsFailed, match="ValueError: no luck"):
            crash_worker("handled")


class TestPlugin:
    """The same by fixtures."""

    from jobqueue.testing.plugin import crash_worker, queue_clock

    def test_it_lets_time_pass_and_workers_die(
        self, tenant: str, queue_clock: QueueClock, crash_worker: Callable[..., ProcessingJob]
    ) -> None:
        assert "test.ok" in registered()
        Queue().enqueue("test.ok", {})
        crash_worker("claimed")
        queue_clock.advance(HOUR)
        assert len(run_jobs()) == 1
