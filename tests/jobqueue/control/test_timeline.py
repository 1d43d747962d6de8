"""A job's history as events, made of its row alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobqueue.control.timeline import Event, timeline
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def attempt(number: int, outcome: str, start: float, end: float, error: str = "") -> dict[str, Any]:
    times = {"started_at": at(start).isoformat(), "ended_at": at(end).isoformat()}
    return {"attempt": number, "worker": "w1", "outcome": outcome, "error": error, **times}


def told(job: ProcessingJob, *decisions: tuple[datetime, str, str]) -> list[tuple[str, str]]:
    return [(event.code, event.text) for event in timeline(job, decisions)]


def test_attempts_and_decisions_stand_in_the_order_of_their_times() -> None:
    job = ProcessingJob(
        status=JobStatus.SUCCEEDED,
        created_at=NOON,
        finished_at=at(92),
        history=[attempt(1, "failed", 1, 3.5, "no use"), attempt(1, "succeeded", 90, 92)],
    )
    events = timeline(job, ((at(60), "Requeued in the admin.", "ada"),))

    assert [(event.code, event.at) for event in events] == [
        ("enqueued", NOON),
        ("started", at(1)),
        ("failed", at(3.5)),
        ("decided", at(60)),
        ("started", at(90)),
        ("succeeded", at(92)),
    ]
    assert events[2] == Event(at(3.5), "failed", "Failed after 2.500 s", "no use")
    assert events[3].detail == "ada"


def test_what_the_bounded_record_has_dropped_is_said() -> None:
    job = ProcessingJob(status=JobStatus.DEAD_LETTER, created_at=NOON, history=[attempt(3, "worker_died", 50, 60)])
    assert told(job)[1] == ("unrecorded", "2 attempts that are recorded no more")


def test_what_runs_what_waits_and_what_was_cancelled_unrun_end_with_that() -> None:
    running = ProcessingJob(
        status=JobStatus.PROCESSING, created_at=NOON, started_at=at(1), attempts=1, locked_by="w2", history=[]
    )
    waiting = ProcessingJob(status=JobStatus.PENDING, created_at=NOON, available_at=at(5), history=[])
    cancelled = ProcessingJob(status=JobStatus.FAILED, created_at=NOON, finished_at=at(2), history=[])
    assert told(running)[-1] == ("started", "Attempt 1 started on w2")
    assert told(waiting)[-1] == ("due", "Due")
    assert told(cancelled)[-1] == ("finished", "Ended for good: failed")
