"""Handlers that raise: whatever it is, the failure is recorded, counted, and the worker goes on."""

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dms_project.tenancy import use
from jobqueue.error_text import MAX_BYTES
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import BothTenants, Twins
from tests.stopwatch import Stopwatch
from tests.testjobs.misbehaviour import RAISE, RETURN


def test_a_failure_that_can_hardly_be_stored_is_recorded_and_the_worker_goes_on(
    both: BothTenants, start: Start, client: Client
) -> None:
    """Q06, and Q09: exceptions outside ``Exception``."""
    failing = {kind: both.enqueue("test.raise", {"kind": kind}, max_attempts=2) for kind in RAISE}
    workers = [start("--name", name) for name in ("w1", "w2")]

    for kind, twins in failing.items():
        for job in twins.become("dead_letter", within=60):
            assert job.attempts == 2, kind
            assert 1 <= len(job.last_error.encode()) <= MAX_BYTES, kind
            assert [entry["outcome"] for entry in job.history] == ["failed", "failed"], kind
        assert both.runs(twins) == [2, 2], kind

    both.a_canary_passes()
    both.a_canary_passes(queue_name="another")
    assert [worker.alive for worker in workers] == [True, True]
    assert [worker.terminate() for worker in workers] == [0, 0]
    assert "Traceback" not in "".join(worker.output for worker in workers)
    for kind in ("nul", "huge", "one_line", "chain"):
        assert_the_admin_shows(failing[kind], client)


def assert_the_admin_shows(twins: Twins, client: Client) -> None:
    for tenant, pk in twins.ids.items():
        with use(tenant):
            boss, _ = User.objects.get_or_create(username="boss", is_staff=True, is_superuser=True)
            client.force_login(boss)
        with Stopwatch() as watch:
            page = client.get(
                reverse("admin:jobqueue_processingjob_change", args=[pk]), headers={"host": f"{tenant}.localhost"}
            )
            assert page.status_code == 200
            assert watch.seconds < 2


MAX_ATTEMPTS = (1, 2, 3)


def test_an_attempt_is_counted_once_for_each_run(both: BothTenants, start: Start) -> None:
    """Q21: what each outcome costs; and Q08: ``sys.exit`` in a handler is a failure like any other."""
    raising = {most: both.enqueue("test.raise", {"kind": "value"}, max_attempts=most) for most in MAX_ATTEMPTS}
    leaving = {most: both.enqueue("test.exit", {"kind": "sys.exit"}, max_attempts=most) for most in MAX_ATTEMPTS}
    hopeless = {most: both.enqueue("test.dead_letter", max_attempts=most) for most in MAX_ATTEMPTS}
    working = {most: both.enqueue("test.ok", max_attempts=most) for most in MAX_ATTEMPTS}

    assert start("--drain").status() == 0

    for twins, status, runs in [
        *((raising[most], "dead_letter", most) for most in MAX_ATTEMPTS),
        *((leaving[most], "dead_letter", most) for most in MAX_ATTEMPTS),
        *((hopeless[most], "dead_letter", 1) for most in MAX_ATTEMPTS),
        *((working[most], "succeeded", 1) for most in MAX_ATTEMPTS),
    ]:
        assert both.runs(twins) == [runs, runs]
        assert twins.are(status=status, attempts=runs)
        assert [[entry["attempt"] for entry in entries] for entries in both.events(twins)] == [
            list(range(1, runs + 1))
        ] * 2
    assert [row.last_error.splitlines()[0] for row in hopeless[3].rows()] == [
        "jobqueue.exceptions.DeadLetter: a retry is useless"
    ] * 2


def test_a_result_that_can_not_be_stored_neither_fails_nor_repeats_the_job(both: BothTenants, start: Start) -> None:
    """Q03, and Q04: a lone surrogate."""
    returning = {kind: both.enqueue("test.return", {"kind": kind}) for kind in RETURN}

    worker = start()

    for kind, twins in returning.items():
        for job in twins.become("succeeded"):
            assert set(job.result) == {"unstorable_result", "reason"}, kind
            assert 0 < len(job.result["reason"]) < 300, kind
            assert job.last_error == "", kind
        assert both.runs(twins) == [1, 1], kind
    both.a_canary_passes()
    assert worker.terminate() == 0
    assert "Traceback" not in worker.output
