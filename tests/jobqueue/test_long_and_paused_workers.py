"""Workers that are slow but alive keep their jobs; those that were frozen find out that they have lost them."""

import signal
from pathlib import Path

import pytest

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins
from tests.testjobs import ledger


@pytest.fixture
def go(both: BothTenants) -> Path:
    """The file that running ``test.sleep`` jobs wait for."""
    return both.ledger_file.with_name("go")


def locked_at(twins: Twins) -> tuple[object, ...]:
    return tuple(row.locked_at for row in twins.rows())


def test_a_job_longer_than_the_stale_limit_runs_once(both: BothTenants, start: Start, go: Path) -> None:
    """Q15: its lock is renewed at a third of the limit, while another worker looks for stale ones all the time."""
    long = both.enqueue("test.sleep", {"until": str(go)})
    first = start("--name", "first", stale_lock_after=1.5)
    both.have_started(long)
    second = start("--name", "second", stale_lock_after=1.5)
    second.has_said("worker second")

    first_seen = seen = locked_at(long)
    for _ in range(6):  # renewals a third of the limit apart: twice the limit
        eventually(
            lambda seen=seen: all(now != then for now, then in zip(locked_at(long), seen, strict=True)), within=5
        )
        seen = locked_at(long)
    both.a_canary_passes()
    go.touch()

    long.become("succeeded")
    assert long.are(attempts=1)
    assert both.runs(long) == [1, 1]
    assert all((now - then).total_seconds() > 2 for now, then in zip(seen, first_seen, strict=True))
    assert [first.terminate(), second.terminate()] == [0, 0]


def test_a_handler_in_one_long_transaction_runs_once(both: BothTenants, start: Start) -> None:
    """Q15, variant: the handler wrote to its own row, so that nobody can renew the lock until it commits."""
    long = both.enqueue("test.long_transaction", {"seconds": 3})
    workers = [start("--name", name, stale_lock_after=1.5) for name in ("first", "second")]
    both.have_started(long)

    long.become("succeeded")
    assert long.are(attempts=1)
    assert both.runs(long) == [1, 1]
    assert [worker.terminate() for worker in workers] == [0, 0]


@pytest.mark.parametrize("wakes", ["after the job is done", "while another runs it"])
def test_a_worker_that_was_frozen_does_not_touch_the_jobs_that_were_given_away(
    both: BothTenants, start: Start, go: Path, wakes: str
) -> None:
    """Q18: SIGSTOP for longer than the stale limit, then SIGCONT."""
    twins = both.enqueue("test.sleep", {"until": str(go)})
    frozen = start("--name", "frozen", stale_lock_after=1)
    both.have_started(twins)
    frozen.signal(signal.SIGSTOP)
    other = start("--name", "other", stale_lock_after=1)
    both.have_started(twins, times=2)

    if wakes == "while another runs it":
        frozen.signal(signal.SIGCONT)
        frozen.has_said("lock lost job=")
        go.touch()
        jobs = twins.become("succeeded")
    else:
        go.touch()
        jobs = twins.become("succeeded")
        frozen.signal(signal.SIGCONT)
    eventually(lambda: frozen.output.count("what it did is not recorded") == 2, what="both losses are logged")

    for job, now in zip(jobs, twins.rows(), strict=True):
        assert [(entry["worker"], entry["outcome"]) for entry in now.history] == [
            ("frozen", "worker_died"),
            ("other", "succeeded"),
        ]
        assert (now.status, now.attempts, now.finished_at) == ("succeeded", 2, job.finished_at)
    assert both.runs(twins) == [2, 2]
    # The frozen one's handlers hear it, unless they are stopped before they ask.
    assert said_still_held(both, twins) | {("frozen", False)} == {("frozen", False), ("other", True)}
    both.a_canary_passes()
    assert [frozen.terminate(), other.terminate()] == [0, 0]


def said_still_held(both: BothTenants, twins: Twins) -> set[tuple[str, bool]]:
    """Return what each worker's handlers heard when they asked whether they still hold their job."""
    names = {entry["pid"]: entry["worker"] for entries in both.events(twins) for entry in entries}
    return {(names[entry["pid"]], entry["held"]) for entries in both.events(twins, "held") for entry in entries}


def test_a_worker_that_was_frozen_begins_nothing_that_it_had_taken_in_advance(both: BothTenants, start: Start) -> None:
    """Q18: others have done it meanwhile; it would be done again in full, though nothing of it were recorded."""
    quick = {"schema": "acme", "plan": [{"how": "return", "online": False, "seconds": 0.001}]}
    with use("acme"):
        Queue().enqueue_many([JobSpec("test.work", quick)] * 1000)
    frozen = start("--concurrency", "1", "--tenant", "acme", stale_lock_after=1)
    eventually(lambda: len(ledger.read(both.ledger_file, "start")) > 100, what="it takes quick jobs in advance")
    frozen.signal(signal.SIGSTOP)
    other = start("--tenant", "acme", stale_lock_after=1)
    with use("acme"):
        eventually(lambda: not ProcessingJob.objects.exclude(status="succeeded").exists(), within=40, what="all done")
        taken = ProcessingJob.objects.filter(attempts=2).count()
    assert taken
    begun = len(ledger.read(both.ledger_file, "start"))
    frozen.signal(signal.SIGCONT)
    frozen.has_said("lock lost job=")
    assert [frozen.terminate(), other.terminate()] == [0, 0]
    # Its one thread may have been frozen between its look at the lock and the beginning.
    assert len(ledger.read(both.ledger_file, "start")) <= begun + 1


def test_a_cancelled_job_is_lost_to_the_worker_that_runs_it(both: BothTenants, start: Start, go: Path) -> None:
    twins = both.enqueue("test.sleep", {"until": str(go)})
    worker = start(stale_lock_after=1.5)
    both.have_started(twins)
    for tenant, pk in twins.ids.items():
        with use(tenant):
            assert Queue().cancel(pk)
    worker.has_said("cancelled job=")
    go.touch()
    both.a_canary_passes()

    assert twins.are(status="failed", last_error="cancelled", attempts=1)
    with use("acme"):
        assert ProcessingJob.objects.filter(status="processing").count() == 0
    assert worker.terminate() == 0
