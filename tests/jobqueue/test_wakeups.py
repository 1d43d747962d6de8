"""Wake-ups: sent after the commit and never before, heard at once, and never what a job depends on."""

import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection, transaction

from dms_project.tenancy import use
from jobqueue import wakeup
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants, Twins
from tests.stopwatch import Stopwatch

# Far longer than a test waits: whoever starts within it was woken, or knew the time.
NEVER = 600.0


class Ear:
    """Hears what is sent over the channel."""

    def __init__(self, url: str) -> None:
        self.session = psycopg.connect(url, autocommit=True)
        self.session.execute(f"LISTEN {wakeup.CHANNEL}")

    def heard(self) -> list[str]:
        """Return the payloads that have come until now."""
        self.session.execute("SELECT 1")
        return [message.payload for message in self.session.notifies(timeout=0)]


@pytest.fixture
def ear(committed_db: None, database_url: str) -> Iterator[Ear]:
    wakeup._sent_at.clear()
    ear = Ear(database_url)
    yield ear
    ear.session.close()


@pytest.mark.parametrize("tenant", TENANTS)
def test_the_wake_up_names_the_tenant_and_comes_after_the_commit(ear: Ear, tenant: str) -> None:
    with use(tenant):
        with transaction.atomic():
            Queue().enqueue("test.ok", {})
            assert ear.heard() == []
        assert ear.heard() == [tenant]


@pytest.mark.usefixtures("ear")
def test_it_is_sent_for_the_tenant_in_which_the_job_lies_wherever_the_commit_happens(ear: Ear) -> None:
    with transaction.atomic(), use("globex"):
        Queue().enqueue("test.ok", {})
    assert ear.heard() == ["globex"]


def test_a_rollback_wakes_nobody(ear: Ear) -> None:
    with use("acme"), transaction.atomic(), transaction.atomic():
        Queue().enqueue("test.ok", {})
        transaction.set_rollback(True)
    assert ear.heard() == []


def test_a_known_key_wakes_nobody(ear: Ear) -> None:
    with use("acme"):
        Queue().enqueue("test.ok", {}, idempotency_key="k")
        wakeup._sent_at.clear()
        assert Queue().enqueue("test.ok", {}, idempotency_key="k").created is False
    assert ear.heard() == ["acme"]


def test_many_in_a_row_are_one_wake_up_for_each_tenant(ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "QUIET_SECONDS", 60)
    for _ in range(5):
        for tenant in TENANTS:
            with use(tenant):
                Queue().enqueue_many([JobSpec("test.ok", {})] * 3)
    assert ear.heard() == list(TENANTS)


@pytest.mark.parametrize("act", ["requeue", "release"])
def test_what_becomes_due_again_wakes_too(ear: Ear, act: str) -> None:
    queue = Queue()
    with use("acme"):
        queue.enqueue("test.ok", {})
        job = queue.dequeue("w1")
        if act == "requeue":
            queue.fail(job, "boom", retry=False)
        assert ear.heard() == ["acme"]
        wakeup._sent_at.clear()
        queue.requeue_dead_letter(job.pk) if act == "requeue" else queue.release([job])
    assert ear.heard() == ["acme"]


def test_a_transaction_that_django_does_not_manage_sends_nothing_and_still_enqueues(ear: Ear) -> None:
    with use("acme"):
        connection.set_autocommit(False)
        try:
            job = Queue().enqueue("test.ok", {})
            connection.commit()
        finally:
            connection.set_autocommit(True)
        assert Queue().status(job.pk) == "pending"
    assert ear.heard() == []


def test_trouble_with_the_hint_reaches_nobody(ear: Ear, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "_NOTIFY", "SELECT no_such_function(%s, %s)")
    with use("acme"):
        job = Queue().enqueue("test.ok", {})
        assert Queue().status(job.pk) == "pending"


# Workers


def test_an_idle_worker_starts_a_job_when_it_commits_without_polling(both: BothTenants, start: Start) -> None:
    worker = start(poll_interval=NEVER)
    both.a_canary_passes()
    time.sleep(0.1)  # the look after the wake-up is over
    both.a_canary_passes(within=10)
    assert worker.terminate() == 0


def test_a_job_that_is_due_later_starts_on_time_without_polling(both: BothTenants, start: Start) -> None:
    worker = start(poll_interval=NEVER)
    both.a_canary_passes()
    with Stopwatch() as watch:
        at = datetime.now(UTC) + timedelta(seconds=1)
        later = both.enqueue("test.ok", available_at=at)
        done = later.become("succeeded", within=10)
        late = timedelta(seconds=1 + watch.stood_still)

    for job in done:
        assert job.started_at is not None
        assert timedelta(0) <= job.started_at - at < late
    assert worker.terminate() == 0


def test_a_listener_whose_session_is_ended_listens_again(both: BothTenants, start: Start) -> None:
    """Q41: and looks everywhere then, for what came while it was deaf."""
    worker = start(poll_interval=NEVER, stale_lock_after=NEVER)
    both.a_canary_passes()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid), pid FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        assert cursor.fetchall()
    deaf = both.enqueue("test.ok")
    deaf.become("succeeded", within=20)
    both.a_canary_passes(within=10)
    assert worker.terminate() == 0


def test_without_listening_the_worker_polls(both: BothTenants, start: Start) -> None:
    worker = start(variables={"JOBQUEUE_TEST_LISTEN": "no"}, poll_interval=0.2)
    both.a_canary_passes()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE query ~ '^LISTEN' AND datname = current_database()")
        assert cursor.fetchone() == (0,)
    both.a_canary_passes(within=10)
    assert worker.terminate() == 0


def test_a_worker_hears_while_its_handlers_are_busy(both: BothTenants, start: Start) -> None:
    go = both.ledger_file.with_name("go")
    worker = start("--concurrency", "3", poll_interval=NEVER)
    busy = both.enqueue("test.sleep", {"until": str(go)})
    both.have_started(busy)

    both.a_canary_passes(within=10)

    go.touch()
    busy.become("succeeded")
    assert worker.terminate() == 0


def test_what_was_taken_in_advance_goes_to_an_idle_worker_when_jobs_turn_out_long(
    both: BothTenants, start: Start
) -> None:
    """Nothing is hoarded: given back within a second, and no attempt counted."""
    go = both.ledger_file.with_name("go")
    with use("acme"):
        queue = Queue()
        quick = [Twins({"acme": queue.enqueue("test.noop", {}).pk}) for _ in range(150)]
        long = [Twins({"acme": queue.enqueue("test.sleep", {"until": str(go)}, priority=-1).pk}) for _ in range(10)]
    first = start("--concurrency", "1", "--name", "first", poll_interval=NEVER)
    for twins in quick:
        twins.become("succeeded")
    eventually(
        lambda: any(job.status == "processing" for twins in long for job in twins.rows()), what="a long one runs"
    )

    second = start("--concurrency", "9", "--name", "second", poll_interval=NEVER)
    eventually(
        lambda: (
            Counter((job.status, job.attempts, job.locked_by) for twins in long for job in twins.rows())
            == {("processing", 1, "first"): 1, ("processing", 1, "second"): 9}
        ),
        within=20,
        what="one runs where it was, nine in the other worker",
    )
    go.touch()
    for twins in long:
        for job in twins.become("succeeded"):
            assert [entry["outcome"] for entry in job.history] == ["succeeded"]
    assert first.terminate() == second.terminate() == 0


def test_draining_leaves_nothing_in_any_lane(both: BothTenants, start: Start) -> None:
    """Also where the worker goes on behind marks in one lane while others are untouched."""
    for tenant in TENANTS:
        with use(tenant):
            Queue().enqueue_many(JobSpec("test.noop", {}, queue_name=f"q{n % 5}", priority=n % 3) for n in range(900))

    assert start("--drain").status(within=60) == 0

    for tenant in TENANTS:
        with use(tenant):
            assert set(ProcessingJob.objects.values_list("status", "attempts")) == {("succeeded", 1)}
