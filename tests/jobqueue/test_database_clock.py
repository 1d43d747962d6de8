"""Q40: due times, locks and staleness go by the database's clock; a host whose clock is wrong changes nothing."""

import datetime as datetime_module
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from jobqueue.exceptions import NoJobAvailable
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.jobs import Jobs, age_lock, row


@pytest.fixture(params=[timedelta(minutes=10), -timedelta(minutes=10)], ids=["ahead", "behind"])
def wrong_clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> timedelta:
    """Python's wall clock is ten minutes off, in whatever way the queue might ask for it."""
    off: timedelta = request.param
    right_time = time.time

    class WrongDatetime(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + off

        @classmethod
        def utcnow(cls) -> Any:
            return datetime.now(UTC).replace(tzinfo=None) + off

    monkeypatch.setattr(time, "time", lambda: right_time() + off.total_seconds())
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(UTC) + off)
    for name, module in list(sys.modules.items()):
        if name.startswith("jobqueue.") and getattr(module, "datetime", None) is datetime_module.datetime:
            monkeypatch.setattr(module, "datetime", WrongDatetime)
    return off


def test_an_immediate_job_is_due_at_once(queue: Queue, wrong_clock: timedelta) -> None:
    job = queue.enqueue("test.ok", {})

    assert ProcessingJob.objects.filter(pk=job.pk, available_at__lte=Now(), created_at__lte=Now()).exists()
    assert queue.dequeue("w1").pk == job.pk


def test_a_live_lock_is_not_stale(queue: Queue, jobs: Jobs, wrong_clock: timedelta) -> None:
    job = jobs.processing()

    with pytest.raises(NoJobAvailable):
        queue.dequeue("w2")
    assert queue.renew([job]) == [job]
    with pytest.raises(NoJobAvailable):
        queue.dequeue("w2")


def test_a_stale_lock_is_stale(queue: Queue, jobs: Jobs, wrong_clock: timedelta) -> None:
    job = jobs.processing()
    age_lock(job, timedelta(seconds=61))

    assert queue.dequeue("w2").pk == job.pk


def test_every_time_in_the_row_is_the_databases(queue: Queue, jobs: Jobs, wrong_clock: timedelta) -> None:
    failed = jobs.processing(job_type="test.unknown")
    queue.fail(failed, "boom")
    done, cancelled, discarded = jobs.succeeded(), jobs.cancelled(), jobs.discarded()
    running = jobs.processing()
    queue.renew([running])

    a_minute = timedelta(minutes=1)
    for name in ("created_at", "available_at", "started_at", "locked_at", "finished_at"):
        for job in (failed, done, cancelled, discarded, running):
            at = getattr(row(job), name)
            assert at is None or abs(at - real_now()) < a_minute, name
    for entry in row(done).history:
        assert abs(datetime.fromisoformat(entry["ended_at"]) - real_now()) < a_minute


def real_now() -> datetime:
    return datetime.now(UTC)


def test_inside_a_long_transaction_the_statements_time_counts(queue: Queue, jobs: Jobs) -> None:
    """The transaction's start would make locks old from their first moment."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.2)")
    job = jobs.processing()

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(at - transaction_timestamp()) FROM processing_jobs,"
            " unnest(ARRAY[created_at, available_at, locked_at, started_at]) AS at WHERE id = %s",
            [job.pk],
        )
        assert cursor.fetchone()[0] >= timedelta(seconds=0.2)
