"""Connections that break in the middle of something: at a COMMIT, whose outcome nobody knows then, or between."""

import pytest
from django.db import OperationalError, connection, connections, transaction

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.faults.proxy import FaultyConnection
from tests.faults.sessions import KEEPERS, backends
from tests.jobqueue.concurrency import threads
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import BothTenants, Twins

# What the queue's statements are known by.
ENQUEUE, CLAIM, COMPLETE, FAIL, RELEASE = (
    b"INSERT INTO processing_jobs",
    b'"attempts" + ',
    b"SET status = 'succeeded'",
    b'"last_error" = ',
    b'"attempts" - ',
)


def test_an_enqueue_whose_commit_was_not_answered_can_be_repeated_with_its_key(
    committed_db: None, proxy: FaultyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever doesn't know whether the job exists asks again, and gets the one job either way."""
    monkeypatch.setitem(connections.databases["default"], "HOST", "127.0.0.1")
    monkeypatch.setitem(connections.databases["default"], "PORT", str(proxy.port))

    def enqueue(key: str) -> int | None:
        try:
            with use("acme"), transaction.atomic():
                return Queue().enqueue("test.ok", {}, idempotency_key=key).pk
        except OperationalError:
            return None

    with threads(1) as start:
        for act in ("lose the answer", "cut"):
            proxy.when(b"COMMIT", act, after=ENQUEUE)
            assert start(enqueue, act).result(30) is None
            connections["default"].close()
            first = start(enqueue, act).result(30)
            assert first is not None
            assert start(enqueue, act).result(30) == first
    monkeypatch.undo()
    connection.close()
    with use("acme"):
        assert sorted(ProcessingJob.objects.values_list("idempotency_key", flat=True)) == ["cut", "lose the answer"]


def test_a_claim_and_an_ending_whose_commit_was_not_answered_are_made_out_afterwards(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    """Nothing runs twice, nothing is counted twice, whether the COMMIT had arrived or not."""
    worker = start(variables=through)
    both.a_canary_passes()
    for statement in (CLAIM, COMPLETE, FAIL):
        for act in ("lose the answer", "cut"):
            broken = proxy.when(b"COMMIT", act, after=statement)
            with use("globex"):
                failing = {"job_type": "test.raise", "payload": {"kind": "value"}, "max_attempts": 2}
                wanted = failing if statement is FAIL else {"job_type": "test.ok", "payload": {}, "max_attempts": 1}
                job = Twins({"globex": Queue().enqueue(**wanted).pk})
            (row,) = job.become("dead_letter" if statement is FAIL else "succeeded", within=60)
            assert broken.fired.is_set()
            assert (row.attempts, both.runs(job)) == (row.max_attempts, [row.max_attempts])
            assert len(row.history) == row.max_attempts
    both.a_canary_passes()
    assert worker.terminate() == 0


def test_a_worker_that_stops_while_it_does_not_know_whether_it_has_claimed_gives_back_what_it_has(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    worker = start(variables=through)
    both.a_canary_passes()
    lost = proxy.when(b"COMMIT", "lose the answer", after=CLAIM)
    with use("globex"):
        job = Twins({"globex": Queue().enqueue("test.ok", {}, max_attempts=1).pk})
    eventually(lost.fired.is_set, what="the COMMIT's answer is lost")

    assert worker.terminate() == 0

    assert job.are(status="pending", attempts=0), job.rows()[0].__dict__
    assert both.runs(job) == [0]


def test_jobs_whose_giving_back_failed_are_given_back_when_the_connection_is_back(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    """Taken in advance and not begun: neither kept for ever, nor lost."""
    go = both.ledger_file.with_name("go")
    with use("acme"):
        queue = Queue()
        quick = [Twins({"acme": queue.enqueue("test.noop", {}).pk}) for _ in range(150)]
        long = [Twins({"acme": queue.enqueue("test.sleep", {"until": str(go)}, priority=-1).pk}) for _ in range(10)]
    cut = proxy.when(RELEASE, "cut")
    first = start("--concurrency", "1", "--name", "first", variables=through)
    for twins in quick:
        twins.become("succeeded")
    eventually(cut.fired.is_set, what="the giving back is cut off")

    second = start("--concurrency", "9", "--name", "second")
    eventually(lambda: all(both.runs(twins) == [1] for twins in long), within=30, what="all long ones run")
    go.touch()
    for twins in long:
        (job,) = twins.become("succeeded")
        assert job.attempts == 1
    assert first.terminate() == second.terminate() == 0


def test_a_worker_that_can_not_show_its_sign_of_life_claims_nothing_until_it_can(
    both: BothTenants, start: Start, proxy: FaultyConnection, through: dict[str, str]
) -> None:
    """It would be taken for dead with everything that it claims, again and again."""
    mute = start("--name", "mute", "--concurrency", "4", variables=through)
    both.a_canary_passes()
    proxy.open = False
    (keeper,) = backends(KEEPERS)
    proxy.link_to(keeper).mode = "refuse"
    mute.has_said("keeper: the database fails")
    job = both.enqueue("test.sleep", {"seconds": 2, "offline": True})
    other = start("--name", "other", "--concurrency", "4")

    for row in job.become("succeeded"):
        assert (row.attempts, [entry["worker"] for entry in row.history]) == (1, ["other"])
    assert other.terminate() == 0
    proxy.open = True
    mute.has_said("keeper: the database works again")
    both.a_canary_passes()
    assert mute.terminate() == 0
