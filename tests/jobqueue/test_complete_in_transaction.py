"""``context.complete()``: the job succeeds exactly if the transaction that did its work commits."""

import signal

import pytest

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants, Twins

DONE = {"from": "the transaction"}


def effects(twins: Twins) -> list[int]:
    """Return how often the work of each of the two is there."""
    counts = []
    for tenant, pk in twins.ids.items():
        with use(tenant):
            counts.append(ProcessingJob.objects.filter(job_type="test.effect", payload={"of": pk}).count())
    return counts


def test_work_and_success_are_one(both: BothTenants, start: Start) -> None:
    good = both.enqueue("test.self_complete", {"then": "return"})
    rolled_back = both.enqueue("test.self_complete", {"then": "raise inside"}, max_attempts=2)
    raising = both.enqueue("test.self_complete", {"then": "raise after"})
    now = both.enqueue("test.self_complete_now")
    worker = start("--concurrency", "4")

    assert [row.result for row in good.become("succeeded")] == [DONE, DONE]
    assert effects(good) == [1, 1]

    for row in rolled_back.become("dead_letter"):
        assert row.last_error.startswith("ValueError: after it was complete")
        assert (row.attempts, row.result) == (2, None)
    assert effects(rolled_back) == [0, 0]

    eventually(lambda: worker.output.count("raised after completion") == 2, what="both are logged")
    assert raising.are(status="succeeded", attempts=1, result=DONE)
    assert effects(raising) == [1, 1]

    now.become("succeeded")
    assert [len(events) for events in both.events(now, "succeeded")] == [1, 1]
    assert worker.terminate() == 0
    assert "lock lost" not in worker.output


@pytest.mark.parametrize("tenant", TENANTS)
def test_a_worker_killed_between_the_commit_and_the_record_leaves_nothing_to_be_done(
    both: BothTenants, start: Start, tenant: str
) -> None:
    with use(tenant):
        job = Twins({tenant: Queue().enqueue("test.self_complete", {"then": "die after"}).pk})
    assert start().status() == -signal.SIGKILL

    second = start()
    both.a_canary_passes()

    (row,) = job.rows()
    assert (row.status, row.attempts, row.result) == ("succeeded", 1, DONE)
    assert both.runs(job) == effects(job) == [1]
    assert second.terminate() == 0


def test_time_limits_know_what_is_complete(both: BothTenants, start: Start) -> None:
    """One that hangs after the commit has succeeded; one that hangs before it is cut off, and nothing is there."""
    after = both.enqueue("test.self_complete", {"then": "hang after"})
    inside = both.enqueue("test.self_complete", {"then": "hang inside"}, max_attempts=1)
    slow = both.enqueue("test.self_complete", {"then": "work on"})
    worker = start("--concurrency", "7")

    slow.become("succeeded")
    eventually(lambda: all(both.events(slow, "end")), what="they work on to their end")
    for row in inside.become("dead_letter"):
        assert row.last_error.startswith("timed out after 4 s")
    eventually(lambda: worker.output.count("raised after completion") == 2, what="both are given up")
    assert after.are(status="succeeded", attempts=1, result=DONE)
    assert (effects(after), effects(inside)) == ([1, 1], [0, 0])
    assert "lock lost" not in worker.output
    assert "is being stopped" not in worker.output
