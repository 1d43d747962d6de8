"""What operators are told at a glance, without a large table being read."""

from datetime import UTC, datetime, timedelta

from jobqueue.queue import JobSpec, Queue
from jobqueue.rows.counts import read_counts

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_longest_due_job_is_found_however_many_are_counted_and_whatever_lane_it_is_in(queue: Queue) -> None:
    queue.enqueue_many([JobSpec("a", {}, priority=priority) for priority in (5, 0, 0, -5)])
    queue.enqueue("z", {}, queue_name="slow", priority=-100, available_at=LONG_AGO)
    queue.enqueue("a", {}, available_at=LONG_AGO + timedelta(seconds=1))
    queue.enqueue("a", {}, priority=7, available_at=datetime(2999, 1, 1, tzinfo=UTC))

    pending, processing, dead, oldest, _about = read_counts(queue.using, limit=2)

    assert (pending, processing, dead, oldest) == (2, 0, 0, LONG_AGO)


def test_nothing_is_due_where_all_is_for_later(queue: Queue) -> None:
    queue.enqueue("a", {}, available_at=datetime(2999, 1, 1, tzinfo=UTC))

    assert read_counts(queue.using, limit=2)[:4] == (1, 0, 0, None)
