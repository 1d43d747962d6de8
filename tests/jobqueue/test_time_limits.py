"""Q52: what a handler may do for how long, and what becomes of one that doesn't end."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psutil
import psycopg
import pytest

from dms_project.tenancy import use
from jobqueue.handlers import job_handler
from jobqueue.models import ProcessingJob
from jobqueue.worker.recycling import RECYCLED
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, WorkerProcess
from tests.testjobs import ledger
from tests.testjobs.limited import ADVISORY_LOCK, HANG

SLOTS = 4


@pytest.fixture
def session(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True, application_name="test") as session:
        yield session


class Supervised:
    """A worker that is started again when it wants to be replaced, as by a process manager; and its size at most."""

    def __init__(self, start: Start, session: psycopg.Connection[Any]) -> None:
        self._start = start
        self._session = session
        self.worker = start("--concurrency", str(SLOTS))
        self.threads = self.programs = self.connections = self.recycled = 0

    def look(self) -> WorkerProcess:
        if not self.worker.alive:
            assert self.worker.status() == RECYCLED, self.worker.output
            self.recycled += 1
            self.worker = self._start("--concurrency", str(SLOTS))
        try:
            process = psutil.Process(self.worker.pid)
            self.threads = max(self.threads, process.num_threads())
            self.programs = max(self.programs, len(process.children(recursive=True)))
        except psutil.NoSuchProcess:
            pass
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'test'"
        )
        ((connections,),) = self._session.execute(others)
        self.connections = max(self.connections, connections)
        return self.worker


def test_handlers_that_hang_in_every_way_are_failed_and_their_slots_work_on(
    both: BothTenants, start: Start, session: psycopg.Connection[Any]
) -> None:
    session.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
    hung = {kind: [both.enqueue("test.hang", {"kind": kind}, max_attempts=1) for _ in range(2)] for kind in HANG}
    supervised = Supervised(start, session)
    pairs = [twins for pairs in hung.values() for twins in pairs]

    eventually(lambda: supervised.look() and all(twins.are(status="dead_letter") for twins in pairs), within=100)
    canary = both.enqueue("test.ok")
    eventually(lambda: supervised.look() and canary.are(status="succeeded"), within=20)

    for twins in pairs:
        for row in twins.rows():
            summary, *where = row.last_error.splitlines()
            assert summary == "timed out after 1 s"
            assert any("limited.py" in line for line in where), row.last_error
            assert (row.attempts, [entry["outcome"] for entry in row.history]) == (1, ["failed"])
    # Three kinds hang for good: 12 jobs on 4 slots. Programs and statements are ended, and their threads with them.
    assert 1 <= supervised.recycled <= 4
    # Left behind: as many as make it end, and those that ran meanwhile. Beside them the slots and the six loops.
    assert supervised.threads <= 3 * SLOTS + 6
    assert supervised.programs <= SLOTS
    assert supervised.connections <= 2 * SLOTS + 4 + 1
    programs = [entry["program"] for entry in ledger.read(both.ledger_file, "program")]
    assert len(programs) == 4
    assert not any(psutil.pid_exists(pid) for pid in programs)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    assert session.execute(waiting).fetchone() == (0,)
    assert supervised.worker.terminate() in (0, RECYCLED)  # by then it may want to be replaced again


def test_what_a_hanging_handler_waits_for_is_ended_if_it_can_be_so_that_its_thread_comes_back(
    both: BothTenants, start: Start, session: psycopg.Connection[Any]
) -> None:
    session.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
    hung = [both.enqueue("test.hang", {"kind": kind}, max_attempts=1) for kind in ("program", "lock")]
    worker = start("--concurrency", "5")

    for twins in hung:
        twins.become("dead_letter")
    eventually(lambda: psutil.Process(worker.pid).num_threads() == 6 + 5, what="six loops and five slots")
    both.a_canary_passes()
    assert worker.terminate() == 0


def test_a_handler_that_hangs_in_a_transaction_is_cut_off_from_the_database(both: BothTenants, start: Start) -> None:
    """It has its own row locked, so that its failure could not be recorded; and it wakes up later and writes."""
    twins = both.enqueue("test.hang_in_transaction", {"seconds": 6}, max_attempts=1)
    worker = start("--concurrency", "3")

    rows = twins.become("dead_letter", within=20)
    assert psutil.Process(worker.pid).num_threads() == 11, "both threads still hang"
    assert both.events(twins, "end") == [[], []]
    assert [row.last_error.splitlines()[0] for row in rows] == ["timed out after 1 s"] * 2
    eventually(lambda: psutil.Process(worker.pid).num_threads() <= 9, what="both threads have come back and ended")

    both.a_canary_passes()
    assert both.events(twins, "end") == [[], []]
    assert twins.are(status="dead_letter", attempts=1)
    for tenant in twins.ids:
        with use(tenant):
            assert not ProcessingJob.objects.filter(job_type="test.noop").exists()
    assert worker.terminate() == 0


def test_a_handler_without_a_limit_of_its_own_has_that_of_the_settings(both: BothTenants, start: Start) -> None:
    twins = both.enqueue("test.default_limit", max_attempts=1)
    unlimited = both.enqueue("test.no_limit", {"seconds": 1.5})
    worker = start("--concurrency", "4", variables={"JOBQUEUE_TEST_TIMEOUT": "0.5"})

    rows = twins.become("dead_letter")
    assert [row.last_error.splitlines()[0] for row in rows] == ["timed out after 0.5 s"] * 2
    unlimited.become("succeeded")
    assert worker.alive


def test_a_soft_limit_lets_the_handler_clean_up_and_then_it_counts_how_it_ends(both: BothTenants, start: Start) -> None:
    returning = both.enqueue("test.soft", {"then": "return"})
    raising = both.enqueue("test.soft", {"then": "raise"}, max_attempts=2)
    worker = start("--concurrency", "4")

    assert [row.result for row in returning.become("succeeded")] == ["as far as it came"] * 2
    for row in raising.become("dead_letter"):
        assert row.last_error.startswith("jobqueue.exceptions.SoftTimeLimit: the job's soft time limit has passed")
        assert "in work_until_told" in row.last_error
        assert row.attempts == 2
    assert [len(events) for events in both.events(returning, "cleaned")] == [1, 1]
    assert [len(events) for events in both.events(raising, "cleaned")] == [2, 2]
    both.a_canary_passes()
    assert "left behind" not in worker.output
    assert worker.terminate() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": 5}, "timeout is 5: give a timedelta greater than zero"),
        ({"soft_timeout": timedelta(0)}, "soft_timeout is datetime.timedelta(0): give a timedelta greater than zero"),
        (
            {"timeout": timedelta(seconds=5), "soft_timeout": timedelta(seconds=5)},
            "soft_timeout is 0:00:05: it must be shorter than timeout, 0:00:05",
        ),
        ({"isolation": "fibre"}, "isolation is 'fibre': give 'thread' or 'process'"),
        ({"memory_limit_bytes": 2**20}, "memory_limit_bytes and cpu_limit need isolation='process'"),
        ({"cpu_limit": timedelta(seconds=1)}, "memory_limit_bytes and cpu_limit need isolation='process'"),
        ({"isolation": "process", "memory_limit_bytes": 0.5}, "memory_limit_bytes is 0.5: give an int"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"Job type 'test.never': ") as refusal:
        job_handler("test.never", **options)

    assert message in str(refusal.value)
