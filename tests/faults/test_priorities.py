"""Q48: priority is strict. What waits below a steady stream is seen to wait, and runs in order when there is room."""

from datetime import timedelta

from django.db.models.functions import Now

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.counts import count_jobs
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins
from tests.testjobs import ledger

LOW, HIGH = 1, 10  # the higher number first, and by number, not by text


def test_lower_priorities_wait_as_long_as_higher_ones_are_due_and_that_can_be_seen(
    both: BothTenants, start: Start
) -> None:
    with use("acme"):
        queue = Queue()
        low = [queue.enqueue("test.ok", {}, priority=LOW).pk for _ in range(5)]
        high = [queue.enqueue("test.sleep", {"seconds": 0.15}, priority=HIGH).pk for _ in range(3)]
    worker = start("--concurrency", "1", "--tenant", "acme")
    with use("acme"):
        # A stream that is faster than the one thread: two come for each that is done.
        for _ in range(8):
            done = len(ledger.read(both.ledger_file, "end"))
            high += [queue.enqueue("test.sleep", {"seconds": 0.15}, priority=HIGH).pk for _ in range(2)]
            eventually(lambda done=done: len(ledger.read(both.ledger_file, "end")) > done, what="one more is done")
        started = [entry["job"] for entry in ledger.read(both.ledger_file, "start")]
        assert not set(started) & set(low)
        oldest = count_jobs().oldest_due
        assert oldest is not None
        first = ProcessingJob.objects.annotate(waits=Now() - oldest).get(pk=low[0])
        assert first.available_at == oldest
        assert first.waits > timedelta(seconds=1)

    Twins({"acme": low[-1]}).become("succeeded")

    started = [entry["job"] for entry in ledger.read(both.ledger_file, "start")]
    assert started == high + low
    assert worker.terminate() == 0
