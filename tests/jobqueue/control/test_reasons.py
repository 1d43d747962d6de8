"""Why a job is not running, as a table: each circumstance alone, several at once, and none."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobqueue.control.reasons import Circumstances, why_not_running
from jobqueue.states import JobStatus

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LONG_DUE = NOW - timedelta(minutes=1)


def codes(**known: Any) -> list[str]:
    status, due = known.pop("status", JobStatus.PENDING), known.pop("available_at", NOW)
    job = Circumstances(NOW, "mail.send", "mail", status, due, **{"living_workers": 2} | known)
    return [reason.code for reason in why_not_running(job)]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, ["next"]),
        ({"available_at": NOW + timedelta(seconds=1)}, ["not_due"]),
        ({"paused_since": NOW}, ["queue_paused"]),
        ({"has_handler": False}, ["no_handler"]),
        ({"tenant_is_served": False}, ["tenant_not_served"]),
        ({"living_workers": 0}, ["no_worker"]),
        ({"living_workers": None}, ["next"]),
        ({"ahead": 3}, ["behind_others"]),
        ({"runs_alone": True, "available_at": LONG_DUE}, ["runs_alone"]),
        ({"available_at": LONG_DUE}, ["queue_not_served"]),
        ({"available_at": LONG_DUE, "concurrency_key": "k", "key_holders": [(17, "w1")]}, ["limit_reached"]),
        ({"concurrency_key": "k", "concurrency_limit": 2, "key_holders": [(17, "w1")]}, ["next"]),
        ({"available_at": LONG_DUE, "running_in_queue": 1}, ["next"]),
        ({"available_at": LONG_DUE, "ahead": 1}, ["behind_others"]),
        ({"available_at": LONG_DUE, "living_workers": 0}, ["no_worker"]),
        ({"available_at": LONG_DUE, "living_workers": None}, ["next"]),
        ({"available_at": LONG_DUE, "paused_since": NOW}, ["queue_paused"]),
        (
            {"available_at": NOW + timedelta(days=1), "paused_since": NOW, "has_handler": False, "living_workers": 0},
            ["queue_paused", "no_handler", "no_worker", "not_due"],
        ),
        ({"status": JobStatus.PROCESSING, "locked_by": "w1"}, ["running"]),
        ({"status": JobStatus.PROCESSING, "locked_by": "w1", "holder_is_gone": True}, ["worker_gone"]),
        ({"status": JobStatus.DEAD_LETTER}, ["dead_letter"]),
        ({"status": JobStatus.SUCCEEDED, "has_handler": False}, ["finished"]),
        ({"status": JobStatus.FAILED}, ["finished"]),
    ],
)
def test_each_circumstance_has_its_reason(known: dict[str, Any], expected: list[str]) -> None:
    assert codes(**known) == expected


def test_a_reason_names_the_thing_and_the_time() -> None:
    job = Circumstances(
        NOW, "mail.send", "mail", JobStatus.PENDING, NOW + timedelta(minutes=5), paused_since=NOW, has_handler=False
    )
    paused, unknown, later = why_not_running(job)
    assert paused.text == "The queue mail has been paused since 2026-11-30 12:00:00 UTC: resume it."
    assert "mail.send" in unknown.text
    assert (later.text, later.until) == ("It is not due before 2026-11-30 12:05:00 UTC.", job.available_at)


@pytest.mark.parametrize(
    ("ahead", "text"),
    [
        (1, "1 due job comes before it."),
        (2, "2 due jobs come before it."),
        (1_000, "At least 1,000 due jobs come before it."),
    ],
)
def test_the_jobs_before_it_are_counted_up_to_a_limit(ahead: int, text: str) -> None:
    job = Circumstances(NOW, "mail.send", "mail", JobStatus.PENDING, NOW, ahead=ahead)
    assert [reason.text for reason in why_not_running(job)] == [text]


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        (1, "Limit reached: at most 1 of key customer-7 runs at once; job 17 (w1) runs."),
        (2, "Limit reached: at most 2 of key customer-7 run at once; jobs 17 (w1), 18 (w2) run."),
        (4, "Limit reached: at most 4 of key customer-7 run at once; jobs 17 (w1), 18 (w2), 19 (w3), … run."),
    ],
)
def test_a_limit_names_its_key_and_who_holds_it(limit: int, text: str) -> None:
    job = Circumstances(
        NOW,
        "mail.send",
        "mail",
        JobStatus.PENDING,
        NOW,
        concurrency_key="customer-7",
        concurrency_limit=limit,
        key_holders=[(17 + n, f"w{n + 1}") for n in range(limit)],
    )
    assert [reason.text for reason in why_not_running(job)] == [text]
