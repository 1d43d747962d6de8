"""Workers that die: their jobs are delivered again, each attempt counted, and a job that kills is stopped."""

import signal
from pathlib import Path

import psutil
import pytest

from dms_project.tenancy import use
from jobqueue.queue import Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins
from tests.testjobs import sudden_death


@pytest.mark.parametrize(
    ("kind", "status", "tenant"),
    [("os._exit", 3, "acme"), ("segfault", -signal.SIGSEGV, "globex")],
)
def test_a_job_that_kills_its_worker_is_a_dead_letter_and_its_neighbours_are_done(
    both: BothTenants, start: Start, kind: str, status: int, tenant: str
) -> None:
    """Q08: the death is no success for whoever supervises, and costs the neighbours nothing but time."""
    neighbours = [both.enqueue("test.ok") for _ in range(10)]
    with use(tenant):
        poison = Twins({tenant: Queue().enqueue("test.exit", {"kind": kind}, max_attempts=1, priority=1).pk})
    neighbours += [both.enqueue("test.ok") for _ in range(10)]

    assert start("--concurrency", "4").status() == status
    second = start("--concurrency", "4")

    (dead,) = poison.become("dead_letter")
    assert (dead.attempts, dead.history[0]["outcome"]) == (1, "worker_died")
    assert dead.last_error.startswith("worker died")
    for twins in neighbours:
        for job in twins.become("succeeded"):
            assert job.attempts <= 2
    assert second.terminate() == 0


def test_a_poisonous_job_costs_a_long_neighbour_two_attempts_at_the_most(
    both: BothTenants, start: Start, tmp_path: Path
) -> None:
    """Q08: after two deaths in a row each of them runs alone, so that only the poisonous one dies again."""
    go = tmp_path / "go"
    with use("acme"):
        poison = Twins({"acme": Queue().enqueue("test.exit", {"kind": "os._exit"}, max_attempts=4, priority=-1).pk})
        long = Twins({"acme": Queue().enqueue("test.sleep", {"until": str(go)}).pk})
    for _ in range(2):
        assert start("--concurrency", "2").status() == 3

    third = start("--concurrency", "2")
    eventually(lambda: long.are(status="processing", attempts=3), within=30, what="the neighbour runs again")
    assert poison.are(status="pending", attempts=2)
    go.touch()
    (neighbour,) = long.become("succeeded")
    assert neighbour.attempts == 3

    assert third.status() == 3
    assert start("--concurrency", "2").status() == 3
    last = start("--concurrency", "2")
    (dead,) = poison.become("dead_letter")
    assert dead.attempts == 4
    assert last.terminate() == 0


def test_a_job_that_kills_every_worker_costs_its_attempts_and_no_more_and_can_be_requeued(
    both: BothTenants, start: Start
) -> None:
    """Q08, Q11, Q21: the parent replaces each child that dies, and goes on serving."""
    with use("globex"):
        poison = Twins({"globex": Queue().enqueue("test.exit", {"kind": "sigkill"}, max_attempts=2).pk})
    parent = start("--processes", "2", "--concurrency", "1")

    (job,) = poison.become("dead_letter", within=60)
    assert (job.attempts, [entry["outcome"] for entry in job.history]) == (2, ["worker_died"] * 2)
    assert both.runs(poison) == [2]
    both.a_canary_passes(within=60)

    with use("globex"):
        Queue().requeue_dead_letter(job.pk)
    eventually(lambda: both.runs(poison) == [3], within=60, what="the requeued job runs")
    both.a_canary_passes(within=60)
    assert parent.alive
    assert "ended with status -9" in parent.output


@pytest.mark.parametrize(("point", "runs"), [("claimed", 0), ("handled", 1)])
def test_a_worker_killed_between_two_steps_leaves_nothing_that_nobody_sees(
    both: BothTenants, start: Start, point: str, runs: int
) -> None:
    """Q12 (a) and (c): right after the claim commits; after the handler and before the outcome is written."""
    twins = both.enqueue("test.ok")
    first = start("--concurrency", "1", variables={sudden_death.VARIABLE: point})
    assert first.status() == -signal.SIGKILL

    second = start()
    jobs = twins.become("succeeded")

    # Whose turn came first is the worker's choice; the other's may have been claimed in the same turn.
    assert max(job.attempts for job in jobs) == 2
    assert max(both.runs(twins)) == runs + 1
    assert second.terminate() == 0


def test_a_worker_killed_in_the_middle_of_its_jobs_loses_none(both: BothTenants, start: Start) -> None:
    """Q12 (b), and the promise of seconds: far sooner than the lock is stale."""
    twins = both.enqueue("test.sleep", {"seconds": 0.2})
    long = both.enqueue("test.sleep", {"until": str(both.ledger_file.with_name("go"))})
    first = start("--concurrency", "4", "--name", "first", stale_lock_after=600)
    both.have_started(long)
    twins.become("succeeded")

    assert first.kill() == -signal.SIGKILL
    second = start("--name", "second", stale_lock_after=600)
    both.have_started(long, times=2)
    both.ledger_file.with_name("go").touch()

    for job in long.become("succeeded"):
        assert job.attempts == 2
        assert [(entry["worker"], entry["outcome"]) for entry in job.history] == [
            ("first", "worker_died"),
            ("second", "succeeded"),
        ]
    assert both.runs(twins) == [1, 1]
    assert second.terminate() == 0


# Several processes under one parent


def test_a_killed_child_is_replaced_and_its_job_done(both: BothTenants, start: Start) -> None:
    parent = start("--processes", "2", "--concurrency", "2", "--name", "w")
    twins = both.enqueue("test.sleep", {"until": str(both.ledger_file.with_name("go"))})
    both.have_started(twins)
    holder = both.events(twins)[0][0]["pid"]
    assert holder in {child.pid for child in parent.children()}

    psutil.Process(holder).kill()
    eventually(lambda: both.runs(twins)[0] == 2, what="the job runs again")
    both.ledger_file.with_name("go").touch()

    twins.become("succeeded")
    eventually(lambda: len({child.pid for child in parent.children()} - {holder}) == 2)
    assert parent.terminate() == 0


def test_children_stop_when_their_parent_is_killed(both: BothTenants, start: Start) -> None:
    """Even when it is killed while they are still starting."""
    parent = start("--processes", "2")
    children = eventually(lambda: len(parent.children()) == 2 and parent.children(), what="two children")

    parent.kill()

    _gone, alive = psutil.wait_procs(children, timeout=30)
    for child in alive:
        child.kill()
    assert alive == []


def test_several_processes_drain_the_queue_together(both: BothTenants, start: Start) -> None:
    twins = [both.enqueue("test.ok") for _ in range(20)]

    assert start("--processes", "2", "--drain").status(within=60) == 0

    assert all(pair.are(status="succeeded", attempts=1) for pair in twins)
