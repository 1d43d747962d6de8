"""Cancelling a job that runs: its handler is stopped within a second, and nothing it does afterwards is recorded."""

import threading
from queue import SimpleQueue

import psutil
import pytest
from django.db import connections

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.tenant_source import tenant_source
from jobqueue.wakeup import cancelled_job
from jobqueue.worker import keeper as keeper_module
from jobqueue.worker.executor import Claim, Ending
from jobqueue.worker.keeper import Keeper
from jobqueue.worker.runs import Run
from jobqueue.worker.slots import Slots
from tests.jobqueue.conftest import Start
from tests.jobqueue.jobs import Jobs
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins
from tests.stopwatch import Stopwatch


def cancel(twins: Twins) -> None:
    for tenant, pk in twins.ids.items():
        with use(tenant):
            assert Queue().cancel(pk)


def assert_cancelled(twins: Twins) -> None:
    assert twins.are(status="failed", last_error="cancelled", attempts=1, result=None)
    assert [[entry["outcome"] for entry in row.history] for row in twins.rows()] == [["cancelled"]] * 2


@pytest.mark.parametrize("hears", [True, False])
def test_a_handler_in_a_thread_gets_an_exception_within_about_a_second(
    both: BothTenants, start: Start, hears: bool
) -> None:
    """By the message; and without it, as behind a pooler, by the worker's own look at what it holds."""
    twins = both.enqueue("test.until_cancelled")
    neighbours = both.enqueue("test.until_cancelled", {"until": str(both.ledger_file.with_name("go"))})
    worker = start(
        "--concurrency", "4", variables={} if hears else {"JOBQUEUE_TEST_LISTEN": "no"}, stale_lock_after=600
    )
    both.have_started(twins)
    both.have_started(neighbours)

    with Stopwatch() as watch:
        cancel(twins)
        eventually(lambda: all(both.events(twins, "cancelled")), what="both handlers are told", within=10)
        assert watch.seconds < 5  # on a machine that has a lot to do; see also the next test
    worker.has_said("what it did is not recorded")

    assert [[entry["held"] for entry in events] for events in both.events(twins, "cancelled")] == [[False]] * 2
    assert both.events(twins, "end") == [[], []]
    assert_cancelled(twins)
    assert both.events(neighbours, "cancelled") == [[], []]
    both.ledger_file.with_name("go").touch()
    neighbours.become("succeeded")
    assert worker.output.count("its handler is being stopped") == 2
    assert worker.terminate() == 0


def test_the_message_alone_makes_a_worker_look_at_once(
    committed_db: None, tenant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "_LOOK_SECONDS", 600)
    jobs, ended = Jobs(Queue()), SimpleQueue[Claim]()
    keeper = Keeper(Queue(), tenant_source(), wake=lambda name: None)
    keeper.end_run = lambda claim: ended.put(claim) or True
    held, cancelled = (Claim(tenant, jobs.processing()) for _ in range(2))
    keeper.hold([held, cancelled])
    loop = threading.Thread(target=lambda: (keeper.run(), connections.close_all()))
    loop.start()
    try:
        eventually(lambda: keeper.hears, what="it listens")
        assert Queue().cancel(cancelled.job.pk)
        assert ended.get(timeout=10) is cancelled
        assert ended.empty()
    finally:
        keeper.stop()
        loop.join(10)


def test_a_handler_that_takes_no_notice_records_nothing(both: BothTenants, start: Start) -> None:
    go = both.ledger_file.with_name("go")
    twins = both.enqueue("test.until_cancelled", {"stubborn": True, "until": str(go)})
    worker = start("--concurrency", "2")
    both.have_started(twins)

    cancel(twins)
    eventually(lambda: all(both.events(twins, "cancelled")), what="both handlers are told")
    go.touch()
    eventually(lambda: all(both.events(twins, "end")), what="both handlers end as if nothing were")
    both.a_canary_passes()

    assert_cancelled(twins)
    assert worker.terminate() == 0


def test_an_isolated_handler_is_killed(both: BothTenants, start: Start) -> None:
    twins = both.enqueue("test.isolated_sleep", {"until": "/dev/null/never"})
    worker = start("--concurrency", "2", variables={"JOBQUEUE_TEST_ISOLATED": "yes"})
    both.have_started(twins)
    started = [entry for entries in both.events(twins) for entry in entries]
    processes = [psutil.Process(pid) for entry in started for pid in (entry["pid"], entry["program"])]

    cancel(twins)

    _, alive = psutil.wait_procs(processes, timeout=20)
    assert alive == []
    both.a_canary_passes()
    assert_cancelled(twins)
    assert worker.terminate() == 0


def test_a_cancelled_job_that_waits_for_a_thread_does_not_begin() -> None:
    go, began, endings = threading.Event(), [], SimpleQueue[Ending]()

    def execute(run: Run) -> Ending:
        began.append(run.claim)
        assert go.wait(10)
        return Ending(run.claim, 0.0)

    slots = Slots(1, execute, endings.put)
    first, second, third = (Claim("acme", ProcessingJob(pk=pk, job_type="test.any", attempts=1)) for pk in (1, 2, 3))
    slots.start()
    for claim in (first, second, third):
        slots.submit(claim)
    eventually(lambda: began == [first], what="the first runs")

    assert slots.cancel(second) is False
    go.set()
    ended = [endings.get(timeout=10) for _ in range(3)]
    slots.stop()

    assert began == [first, third]
    assert [(ending.claim, ending.failure and ending.failure.kind) for ending in ended] == [
        (first, None),
        (second, "Cancelled"),
        (third, None),
    ]


@pytest.mark.parametrize("payload", ["", "acme", "\n1234", "\ncancelled x acme", "\ncancelled ", "\ncancelled 1x acme"])
def test_what_is_no_message_about_a_cancelled_job_is_none(payload: str) -> None:
    assert cancelled_job(payload) is None


def test_a_message_about_a_cancelled_job_names_tenant_and_id() -> None:
    assert cancelled_job("\ncancelled 17 acme") == ("acme", 17)
    assert cancelled_job("\ncancelled 17 ") == ("", 17)
