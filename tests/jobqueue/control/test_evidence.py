"""What a job's reasons are made of, as the database has it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobqueue.admin.notes import note
from jobqueue.control import evidence
from jobqueue.control.evidence import circumstances, reasons
from jobqueue.control.timeline import timeline
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.sign_of_life import Sign
from tests.jobqueue.jobs import Jobs, row


@pytest.fixture(autouse=True)
def one_living_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if one worker lived; signs of life have tests of their own, and others run beside this one."""
    monkeypatch.setattr(evidence, "living_workers", lambda using: {4711: Sign(None, None)})


def codes(job: ProcessingJob) -> list[str]:
    return [reason.code for reason in reasons(row(job))]


def test_a_due_job_is_next_and_a_later_one_waits_for_its_time(jobs: Jobs) -> None:
    due, later = jobs.pending(), jobs.pending(available_at=timezone.now() + timedelta(hours=1))
    assert (codes(due), codes(later)) == (["next"], ["not_due"])


def test_a_job_waits_for_those_that_are_claimed_first(jobs: Jobs, queue: Queue) -> None:
    earlier, other_queue = jobs.pending(), jobs.pending(queue_name="mail")
    job = jobs.pending()
    urgent, less_urgent = jobs.pending(priority=10), jobs.pending(priority=-10)
    jobs.pending(available_at=timezone.now() + timedelta(hours=1), priority=50)
    jobs.pending("nobody.knows")
    ahead = {each.pk: circumstances(row(each)).ahead for each in (urgent, earlier, other_queue, job, less_urgent)}
    assert ahead == {urgent.pk: 0, earlier.pk: 1, other_queue.pk: 2, job.pk: 3, less_urgent.pk: 4}

    queue.pause("mail")
    assert circumstances(row(job)).ahead == 2
    assert codes(other_queue) == ["queue_paused", "behind_others"]


def test_the_count_of_those_before_ends_at_its_limit(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "AHEAD", 2)
    *_, job = [jobs.pending() for _ in range(5)]
    assert [reason.text for reason in reasons(row(job))] == ["At least 2 due jobs come before it."]


def test_a_running_job_whose_holder_shows_no_sign_of_life_is_told_from_one_that_runs(jobs: Jobs) -> None:
    running, gone = jobs.processing(holder_key=4711), jobs.processing(holder_key=4712)
    unpromised = jobs.processing()
    assert (codes(running), codes(gone), codes(unpromised)) == (["running"], ["worker_gone"], ["running"])


def test_without_a_living_worker_that_is_said(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "living_workers", lambda using: {})
    assert codes(jobs.pending()) == ["no_worker"]


def test_a_tenant_that_workers_do_not_look_into_is_said(
    jobs: Jobs, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OthersOnly:
        def names(self) -> list[str]:
            return ["public"]

    source: Any = OthersOnly()
    monkeypatch.setattr(evidence, "tenant_source", lambda: source)
    assert codes(jobs.pending()) == ["tenant_not_served"]


def test_a_blocked_job_waits_for_the_one_that_holds_its_key(jobs: Jobs, queue: Queue) -> None:
    running = jobs.processing(concurrency_key="customer-7")
    blocked = jobs.pending(concurrency_key="customer-7")
    assert queue.dequeue_many("w2", 10) == []
    (reason,) = reasons(row(blocked))
    assert reason.text == f"Limit reached: at most 1 of key customer-7 runs at once; job {running.pk} (w1) runs."
    assert note(row(blocked)).startswith("blocked by its limit, due for ")
    assert [event.at for event in timeline(row(blocked)) if event.code == "due"] == [blocked.available_at]
