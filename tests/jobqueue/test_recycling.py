"""Processes that end to be replaced: after so many jobs, with so much memory, or when all their handlers hang."""

import subprocess

import pytest
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from jobqueue.queue import Queue
from jobqueue.worker import recycling
from jobqueue.worker.recycling import RECYCLED
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins


def test_a_process_that_has_run_its_jobs_ends_with_a_status_of_its_own_and_leaves_the_rest_to_others(
    both: BothTenants, start: Start
) -> None:
    twins = [both.enqueue("test.ok") for _ in range(10)]

    worker = start("--concurrency", "3", "--max-jobs", "13")

    assert worker.status() == RECYCLED
    rows = [row for pair in twins for row in pair.rows()]
    assert sorted(row.status for row in rows) == ["pending"] * 7 + ["succeeded"] * 13
    assert all(row.attempts == (row.status == "succeeded") for row in rows)
    assert "ends to be replaced, since it has run 13 jobs" in worker.output
    assert worker.output.endswith("stopped\n")


def test_a_process_finishes_what_runs_before_it_is_replaced_however_long_that_takes(
    both: BothTenants, start: Start
) -> None:
    go = both.ledger_file.with_name("go")
    hung = both.enqueue("test.hang", {"kind": "sleep"}, max_attempts=1, priority=1)
    long = both.enqueue("test.sleep", {"until": str(go)})
    worker = start("--concurrency", "2", shutdown_grace=0.1)
    worker.has_said("ends to be replaced, since as many handlers hang as it has threads, 2; 2 jobs still run")
    late = both.enqueue("test.ok")

    assert both.runs(long) == [1, 1]
    with pytest.raises(subprocess.TimeoutExpired):
        worker.status(within=1)
    go.touch()

    assert worker.status() == RECYCLED
    assert long.are(status="succeeded", attempts=1)
    assert hung.are(status="dead_letter")
    assert late.are(status="pending", attempts=0)


def test_the_parent_replaces_a_process_at_once_and_does_not_take_it_for_a_crash(
    both: BothTenants, start: Start
) -> None:
    twins = [both.enqueue("test.ok") for _ in range(4)]

    parent = start("--processes", "2", "--drain", "--max-jobs", "3")

    assert parent.status(within=60) == 0
    assert all(pair.are(status="succeeded", attempts=1) for pair in twins)
    assert parent.output.count("is replaced\n") >= 2
    assert "ended with status" not in parent.output
    pids = [entry["pid"] for pair in twins for entries in both.events(pair) for entry in entries]
    assert max(pids.count(pid) for pid in pids) <= 3


def test_a_process_with_too_much_memory_ends_to_be_replaced(both: BothTenants, start: Start) -> None:
    with use("acme"):
        hoarding = Twins({"acme": Queue().enqueue("test.hoard", {"bytes": 256 * 2**20}).pk})
    worker = start("--max-memory", "250")

    hoarding.become("succeeded")
    assert worker.status() == RECYCLED
    assert "ends to be replaced, since it uses " in worker.output


def test_less_memory_than_a_process_begins_with_is_refused(start: Start) -> None:
    worker = start("--max-memory", "1")

    assert worker.status() == 1
    assert worker.output.startswith("CommandError: --max-memory 1 is too little: a process begins with ")


def test_the_parent_replaces_a_process_all_of_whose_handlers_hang(both: BothTenants, start: Start) -> None:
    parent = start("--processes", "2", "--concurrency", "1")
    eventually(lambda: parent.output.count(": 1 threads, ") == 2, what="both processes serve")
    hung = both.enqueue("test.hang", {"kind": "sleep"}, max_attempts=1)
    hung.become("dead_letter")
    eventually(lambda: parent.output.count("is replaced") == 2, what="both processes are replaced")

    both.a_canary_passes()
    assert parent.output.count("ends to be replaced, since as many handlers hang as it has threads, 1") == 2
    assert parent.terminate() == 0


def test_memory_is_read_as_it_is_now() -> None:
    before = recycling.memory_bytes()
    held = b"x" * (64 * 2**20)
    during = recycling.memory_bytes()
    del held

    assert during - before > 32 * 2**20
    assert recycling.memory_bytes() < during - 32 * 2**20


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-jobs", "0"], "argument --max-jobs: invalid number greater than 0 value: '0'"),
        (["--max-memory", "lots"], "argument --max-memory: invalid number greater than 0 value: 'lots'"),
    ],
)
def test_a_bound_that_makes_no_sense_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("runworker", *arguments)
