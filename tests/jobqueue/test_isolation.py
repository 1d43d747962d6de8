"""``isolation="process"``: a handler in a process of its own, whose crash, hang or greed is nobody else's."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from tests.jobqueue import conftest
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins, WorkerProcess
from tests.testjobs.limited import ADVISORY_LOCK
from tests.testjobs.misbehaviour import RAISE


@pytest.fixture
def start(start: conftest.Start) -> conftest.Start:
    """Starts worker processes that know the isolated handlers."""

    def with_isolated(*arguments: str, variables: dict[str, str] | None = None, **durations: float) -> WorkerProcess:
        return start(*arguments, variables={"JOBQUEUE_TEST_ISOLATED": "yes"} | (variables or {}), **durations)

    return with_isolated


@pytest.fixture
def go(both: BothTenants) -> Path:
    """The file that running ``test.isolated_sleep`` jobs wait for."""
    return both.ledger_file.with_name("go")


@pytest.fixture
def session(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True, application_name="test") as session:
        yield session


def summaries(rows: list[ProcessingJob]) -> set[str]:
    return {row.last_error.splitlines()[0] for row in rows}


def the_fork_server_of(worker: WorkerProcess) -> psutil.Process:
    (server,) = worker.children()
    return server


def processes_of(both: BothTenants, twins: Twins) -> list[psutil.Process]:
    """Return the handlers' processes, and the programs that they started."""
    started = [entry for entries in both.events(twins) for entry in entries]
    return [psutil.Process(pid) for entry in started for pid in (entry["pid"], entry["program"])]


def assert_gone(processes: list[psutil.Process], within: float = 10) -> None:
    _, alive = psutil.wait_procs(processes, timeout=within)
    for process in alive:
        process.kill()
    assert alive == []


def test_the_handler_works_in_a_child_with_a_connection_of_its_own_in_its_tenant(
    both: BothTenants, start: conftest.Start
) -> None:
    twins = [both.enqueue("test.isolated", {"number": number}) for number in range(3)]
    worker = start("--concurrency", "2")

    results = []
    for number, pair in enumerate(twins):
        for row in pair.become("succeeded"):
            results.append(row.result)
            assert (row.result["payload"], row.result["held"]) == ({"number": number}, True)
            assert (row.progress, row.attempts) == (100, 1)
    for events in (entries for pair in twins for entries in both.events(pair)):
        assert [entry["parent"] for entry in events] == [the_fork_server_of(worker).pid]
    assert len({result["pid"] for result in results}) == len({result["backend"] for result in results}) == 6
    for tenant in ("acme", "globex"):
        with use(tenant):
            assert ProcessingJob.objects.filter(job_type="test.noop").count() == 3
    both.a_canary_passes()
    assert worker.terminate() == 0


def test_whatever_a_handler_returns_or_raises_comes_back_like_from_a_thread(
    both: BothTenants, start: conftest.Start
) -> None:
    returning = {kind: both.enqueue("test.isolated_return", {"kind": kind}) for kind in ("much", "nothing")}
    unstorable = {
        kind: both.enqueue("test.isolated_return", {"kind": kind})
        for kind in ("a function", "a set", "too much", "an open file")
    }
    raising = {kind: both.enqueue("test.isolated_raise", {"kind": kind}, max_attempts=1) for kind in RAISE}
    hopeless = both.enqueue("test.isolated_raise", {"kind": "dead letter"}, max_attempts=9)
    worker = start("--concurrency", "3")

    assert [row.result for row in returning["nothing"].become("succeeded")] == [None, None]
    assert [len(row.result) for row in returning["much"].become("succeeded")] == [2**20 - 100] * 2
    for kind, pair in unstorable.items():
        assert all("unstorable_result" in row.result for row in pair.become("succeeded")), kind
    for kind, pair in raising.items():
        for row in pair.become("dead_letter"):
            assert row.last_error, kind
            assert row.history[0]["outcome"] == "failed", kind
    value_error = raising["value"].rows()[0].last_error
    assert value_error.startswith("ValueError: boom")
    assert "isolated.py" in value_error
    assert all(row.attempts == 1 for row in hopeless.become("dead_letter"))
    assert worker.terminate() == 0


CRASHES = {
    "segfault": ("the handler's process ended with SIGSEGV", "in _segfault"),
    "abort": ("the handler's process ended with SIGABRT", "in _abort"),
    "os._exit": ("the handler's process ended with status 3", ""),
    "exit as if well": ("the handler's process ended with status 0", ""),
    "sigkill": ("the handler's process ended with SIGKILL: somebody killed it, or the machine had no memory left", ""),
    "flood": ("the handler's process wrote more than 4194304 bytes to us", ""),
}


def test_a_crash_fails_this_attempt_alone(both: BothTenants, start: conftest.Start, go: Path) -> None:
    """Q11: it is no death of a worker, and costs its neighbours nothing."""
    neighbours = [both.enqueue(job_type, {"until": str(go)}) for job_type in ("test.sleep", "test.isolated_sleep")]
    worker = start("--concurrency", "6")
    for pair in neighbours:
        both.have_started(pair)

    poison = {kind: both.enqueue("test.isolated_crash", {"kind": kind}, max_attempts=2) for kind in CRASHES}
    for kind, pair in poison.items():
        reason, where = CRASHES[kind]
        rows = pair.become("dead_letter")
        assert summaries(rows) == {reason}
        for row in rows:
            assert where in row.last_error
            assert (row.attempts, row.worker_deaths) == (2, 0)
            assert [entry["outcome"] for entry in row.history] == ["failed", "failed"]
    go.touch()

    for pair in neighbours:
        pair.become("succeeded")
        assert pair.are(attempts=1)
    assert worker.terminate() == 0


def test_a_handler_that_takes_too_much_memory_or_time_of_the_processor_fails(
    both: BothTenants, start: conftest.Start
) -> None:
    greedy = {
        kind: both.enqueue("test.isolated_greedy", {"kind": kind}, max_attempts=1) for kind in ("memory", "processor")
    }
    worker = start("--concurrency", "2")

    memory = greedy["memory"].become("dead_letter")
    processor = greedy["processor"].become("dead_letter")

    assert all(row.last_error.startswith("MemoryError") and "in _fill_memory" in row.last_error for row in memory)
    assert summaries(processor) == {"the handler's process ended with SIGXCPU: it has computed for 0:00:01"}
    assert all("in greedy" in row.last_error for row in processor)
    assert worker.terminate() == 0


def test_a_hanging_handler_is_killed_with_its_programs_and_its_statement_ends(
    both: BothTenants, start: conftest.Start, session: psycopg.Connection[Any]
) -> None:
    session.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    hung = [
        both.enqueue("test.isolated_hang", {"kind": kind}, max_attempts=1) for kind in ("swallow", "program", "lock")
    ]
    worker = start("--concurrency", "6")
    eventually(lambda: session.execute(waiting).fetchone() == (2,), what="two statements wait")

    for pair in hung:
        rows = pair.become("dead_letter")
        assert summaries(rows) == {"timed out after 2 s"}
        assert all("limited.py" in row.last_error for row in rows)
    eventually(lambda: the_fork_server_of(worker).children() == [], what="no child is left")
    eventually(lambda: session.execute(waiting).fetchone() == (0,), what="no statement waits", within=5)
    assert len(worker.children()) == 1
    both.a_canary_passes()
    assert worker.terminate() == 0


def test_a_soft_limit_lets_an_isolated_handler_clean_up(both: BothTenants, start: conftest.Start) -> None:
    returning = both.enqueue("test.isolated_soft", {"then": "return"})
    raising = both.enqueue("test.isolated_soft", {"then": "raise"}, max_attempts=1)
    start("--concurrency", "4")

    assert [row.result for row in returning.become("succeeded")] == ["as far as it came"] * 2
    rows = raising.become("dead_letter")
    assert summaries(rows) == {"jobqueue.exceptions.SoftTimeLimit: the job's soft time limit has passed"}
    assert [len(events) for events in both.events(raising, "cleaned")] == [1, 1]


# Ends


def test_kill_9_of_the_worker_leaves_no_process(both: BothTenants, start: conftest.Start, go: Path) -> None:
    twins = both.enqueue("test.isolated_sleep", {"until": str(go)})
    worker = start("--concurrency", "2")
    both.have_started(twins)
    family = [the_fork_server_of(worker), *processes_of(both, twins)]
    assert len(family) == 5

    worker.kill()

    assert_gone(family)


def test_kill_9_of_the_process_that_forks_fails_the_attempts_and_leaves_no_process_and_the_next_ones_work(
    both: BothTenants, start: conftest.Start, go: Path
) -> None:
    twins = both.enqueue("test.isolated_sleep", {"until": str(go)}, max_attempts=2)
    worker = start("--concurrency", "2")
    both.have_started(twins)

    family = processes_of(both, twins)
    assert len(family) == 4

    the_fork_server_of(worker).kill()
    assert_gone(family)
    both.have_started(twins, times=2)
    go.touch()

    for row in twins.become("succeeded"):
        assert row.attempts == 2
        assert "ended, and with it the process that forks them" in row.history[0]["error"]
    assert worker.terminate() == 0


def test_sigterm_to_everybody_does_not_kill_a_child_in_the_middle_of_its_job(
    both: BothTenants, start: conftest.Start, go: Path
) -> None:
    """Q51: a terminal, a container or systemd may send it to all processes at once."""
    twins = both.enqueue("test.isolated_sleep", {"until": str(go)})
    worker = start("--concurrency", "2")
    both.have_started(twins)
    children = the_fork_server_of(worker).children()
    assert len(children) == 2

    for process in [*children, the_fork_server_of(worker)]:
        process.send_signal(signal.SIGTERM)
    os.killpg(worker.pid, signal.SIGTERM)
    worker.has_said("stopping: 2 jobs still run")
    go.touch()

    assert worker.status() == 0
    assert twins.are(status="succeeded", attempts=1)


def test_what_still_runs_after_the_grace_time_is_ended_and_given_back(
    both: BothTenants, start: conftest.Start, go: Path
) -> None:
    """Q51: no child is left when the next worker runs the job."""
    twins = both.enqueue("test.isolated_sleep", {"until": str(go)}, max_attempts=1)
    worker = start("--concurrency", "2", shutdown_grace=0.3)
    both.have_started(twins)
    family = [the_fork_server_of(worker), *processes_of(both, twins)]

    assert worker.terminate() == 0

    assert_gone(family, within=2)
    assert twins.are(status="pending", attempts=0)
    assert all([entry["outcome"] for entry in row.history] == ["released"] for row in twins.rows())


def test_a_worker_whose_handlers_can_not_be_loaded_a_second_time_says_so_at_its_start(start: conftest.Start) -> None:
    worker = start(variables={"JOBQUEUE_TEST_ISOLATED": "once"})

    assert worker.status() == 1
    assert worker.output.splitlines()[-1] == (
        "CommandError: A handler asks for isolation='process', but the process that forks them could not be started."
    )
