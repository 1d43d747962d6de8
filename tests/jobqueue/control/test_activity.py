"""What the charts are made of: a sample of jobs, sorted into slots of time by pure functions."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobqueue.admin.charts import Series, chart, nice_ceiling
from jobqueue.admin.control_room import seconds_text
from jobqueue.control import sampling
from jobqueue.control.activity import Span, activity
from jobqueue.control.sampling import Seen, jobs_since
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.states import JobStatus

SPAN = Span(end=1_040.0, slot_seconds=10, slots=4)  # from 1,000 to 1,040


def seen(created: float, started: float | None = None, finished: float | None = None, **more: Any) -> Seen:
    status = JobStatus.SUCCEEDED if finished else JobStatus.PROCESSING if started else JobStatus.PENDING
    facts = {"weight": 1.0, "status": status, "attempts": 1, "available": created} | more
    return Seen(created=created, started=started, finished=finished, **facts)


def test_each_job_counts_in_the_slots_of_its_moments() -> None:
    done = activity([seen(1_001, 1_002, 1_003), seen(1_009, 1_011, 1_025), seen(1_039)], SPAN)
    assert done.enqueued == [2, 0, 0, 1]
    assert done.finished == [1, 0, 1, 0]
    assert done.waiting == [1, 0, 0, 1]


def test_a_job_stands_for_as_many_as_it_weighs() -> None:
    done = activity([seen(1_001, 1_012, 1_013, weight=50.0)], SPAN, waiting_before=7)
    assert (done.enqueued, done.finished, done.waiting) == ([50, 0, 0, 0], [0, 50, 0, 0], [57, 7, 7, 7])


def test_the_wait_is_counted_from_when_a_job_was_due_and_is_never_negative() -> None:
    jobs = [seen(1_000, 1_005, available=1_004), seen(1_000, 1_006, available=1_007), seen(1_000, 1_008)]
    done = activity(jobs, SPAN)
    assert done.wait_median == [1, None, None, None]
    assert done.wait_p95 == [8, None, None, None]


def test_retries_and_dead_letters_are_told_apart() -> None:
    jobs = [
        seen(1_000, 1_001, 1_002, attempts=2),
        seen(1_000, 1_011, status=JobStatus.DEAD_LETTER),
        seen(1_000, 1_021, status=JobStatus.DEAD_LETTER, attempts=5),
    ]
    done = activity(jobs, SPAN)
    assert done.retried == [1, 0, 1, 0]
    assert done.died == [0, 1, 1, 0]


def test_a_job_that_waits_for_its_next_attempt_or_was_cancelled_unrun_waits_no_longer_than_it_did() -> None:
    again = seen(1_000, 1_001, status=JobStatus.PENDING, available=1_030, attempts=1)
    cancelled = seen(1_000, None, 1_015, status=JobStatus.FAILED)
    assert activity([again], SPAN).waiting == [0, 0, 1, 1]
    assert activity([cancelled], SPAN).waiting == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 1), (0.03, 0.05), (1, 1), (1.1, 2), (3, 5), (5, 5), (51, 100), (1_200, 2_000)]
)
def test_the_top_of_a_chart_is_a_round_number_that_is_not_less(value: float, expected: float) -> None:
    assert nice_ceiling(value) == pytest.approx(expected)


def test_a_chart_says_its_numbers_and_leaves_gaps_where_there_are_none() -> None:
    series = [
        Series("n", "done", [1, 0, 2], as_bars=True),
        Series("wait", "new", [0.5, None, 1.5]),
        Series("x", "bad", []),
    ]
    drawn = chart("c", "Jobs", series, seconds_text, ("a", "b", "c"))
    bars, line, nothing = drawn.series
    assert len(bars.bars) == 2  # nothing is drawn for 0
    assert bars.bars[1].height == pytest.approx(2 * bars.bars[0].height, abs=0.2)
    assert len(line.lines) == 2
    assert (nothing.bars, nothing.lines) == ([], [])
    assert drawn.summary == "n: 0 s - 2 s; wait: 500 ms - 1.5 s; x: -".replace("0 s - 2 s", "0 ms - 2 s")
    assert [text for _, text in drawn.grid] == ["0 ms", "1 s", "2 s"]


@pytest.mark.usefixtures("tenant")
def test_without_jobs_and_with_old_ones_alone_nothing_is_read() -> None:
    assert jobs_since("default", timezone.now()).jobs == []
    Queue().enqueue("test.ok", {})
    assert jobs_since("default", timezone.now() + timedelta(minutes=1)).jobs == []


def test_a_span_begins_at_its_first_job_and_a_large_one_is_sampled_in_proportion(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue_many([JobSpec("test.old", {})] * 30)
    ProcessingJob.objects.update(created_at=timezone.now() - timedelta(hours=2))
    queue.enqueue_many([JobSpec("test.new", {})] * 120)
    since = timezone.now() - timedelta(hours=1)

    whole = jobs_since("default", since)
    assert (len(whole.jobs), whole.is_exact) == (120, True)
    assert len(jobs_since("default", since - timedelta(hours=2)).jobs) == 150

    monkeypatch.setattr(sampling, "MOST", 40)
    monkeypatch.setattr(sampling, "STRETCHES", 20)
    sample = jobs_since("default", since)
    assert (len(sample.jobs), sample.is_exact) == (40, False)
    assert sum(job.weight for job in sample.jobs) == pytest.approx(120)
