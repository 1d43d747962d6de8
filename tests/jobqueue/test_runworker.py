"""``manage.py runworker``: what it serves, and how it refuses what makes no sense."""

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dms_project.tenancy import use
from jobqueue.checks import settings_are_usable, times_are_aware
from jobqueue.queue import Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import BothTenants, Twins


def test_a_worker_serves_the_queues_types_and_tenants_it_is_told_and_no_others(both: BothTenants, start: Start) -> None:
    wanted = [both.enqueue("test.ok", queue_name="slow"), both.enqueue("test.look", queue_name="slower")]
    others = [
        both.enqueue("test.ok"),
        both.enqueue("test.sleep", {"seconds": 0}, queue_name="slow"),
        both.enqueue("test.unknown", queue_name="slow"),
    ]
    with use("public"):
        public = Twins({"public": Queue().enqueue("test.ok", {}, queue_name="slow").pk})

    arguments = "--drain --name it --tenant acme --queue slow --queue slower --type test.ok --type test.look"
    worker = start(*arguments.split())

    assert worker.status() == 0
    for twins in wanted:
        assert [row.status for row in twins.rows()] == ["succeeded", "pending"]
        assert twins.rows()[0].history[0]["worker"] == "it"
    assert all(twins.are(status="pending", attempts=0) for twins in [*others, public])
    assert "worker it: 2 threads, queues: slow, slower, tenants: acme, types: test.ok, test.look" in worker.output
    assert worker.output.endswith("worker it stopped\n")


def test_types_that_a_worker_does_not_know_wait_untouched(both: BothTenants, start: Start) -> None:
    """Q34: no attempt is spent, no other's job is judged."""
    foreign = both.enqueue("test.of_another_version")
    known = both.enqueue("test.ok")

    assert start("--drain").status() == 0

    assert known.are(status="succeeded")
    assert foreign.are(status="pending", attempts=0, history=[])


def test_during_a_roll_out_new_jobs_are_done_by_new_workers_alone(both: BothTenants, start: Start) -> None:
    """Q34: and after a roll-back those that are left wait, also those that a new worker died of."""
    old = start("--name", "old", "--type", "test.ok", stale_lock_after=1)
    new = start("--name", "new", "--type", "test.ok", "--type", "test.look", stale_lock_after=1)
    jobs = [both.enqueue("test.look") for _ in range(50)]
    for twins in jobs:
        twins.become("succeeded")
    assert all(twins.are(attempts=1) for twins in jobs)
    assert {row.history[0]["worker"] for twins in jobs for row in twins.rows()} == {"new"}

    assert new.terminate() == 0
    left = both.enqueue("test.look", max_attempts=2)
    for tenant in left.ids:
        with use(tenant):
            Queue().dequeue("a new worker that dies", job_types=["test.look"])

    left.become("pending")  # taken back by the old one, which doesn't know the type
    both.a_canary_passes()
    assert left.are(attempts=1, worker_deaths=1)
    assert old.terminate() == 0
    assert left.are(status="pending", attempts=1)


def test_a_wrong_argument_ends_the_program_with_one_line_and_status_1(start: Start) -> None:
    worker = start("--type", "test.typo")

    assert worker.status() == 1
    (line,) = worker.output.splitlines()
    assert line.startswith("CommandError: No handler for job type test.typo; this project has test.dead_letter, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--type test.typo --type test.ok", "No handler for job type test.typo; this project has .*test.ok"),
        ("--tenant nobody --tenant acme", "There is no tenant nobody."),
        ("--tenant nobody --tenant none", "There is no tenant nobody, none."),
        ("--concurrency 0", "--concurrency: invalid number from 1 to 1000 value: '0'"),
        ("--processes -1", "--processes: "),
        ("--name " + "x" * 201, "--name must have 1 to 200 characters"),
    ],
)
@pytest.mark.django_db
def test_what_makes_no_sense_is_refused_by_name(arguments: str, message: str) -> None:
    with pytest.raises(CommandError, match=message) as refusal:
        call_command("runworker", *arguments.split())

    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("jobqueue", "message"),
    [
        ({"STALE_LOCK_AFTER": 60}, r"JOBQUEUE\['STALE_LOCK_AFTER'\] is 60: give a timedelta"),
        ({"MAX_ATTEMPTS": True}, r"JOBQUEUE\['MAX_ATTEMPTS'\] is True: give a int"),
        ({"STALE_AFTER": 1}, r"JOBQUEUE\['STALE_AFTER'\] is unknown; the keys are STALE_LOCK_AFTER"),
        ({"TENANTS": "nowhere.at_all"}, r"JOBQUEUE\['TENANTS'\] names 'nowhere.at_all', which can't be imported"),
        ({"TENANTS": "tests.jobqueue.waiting"}, "'tests.jobqueue.waiting', which has no function names"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(settings: Any, jobqueue: dict[str, Any], message: str) -> None:
    settings.JOBQUEUE = jobqueue

    with pytest.raises(CommandError, match=message):
        call_command("runworker", "--drain")


def test_a_tenant_can_not_be_named_in_a_project_without_tenants(settings: Any) -> None:
    settings.JOBQUEUE = {}

    with pytest.raises(CommandError, match="--tenant needs JOBQUEUE"):
        call_command("runworker", "--tenant", "acme")


def test_the_system_check_names_the_setting(settings: Any) -> None:
    settings.JOBQUEUE = {"POLL_INTERVAL": 0}
    (error,) = settings_are_usable()

    assert (error.id, "POLL_INTERVAL" in error.msg) == ("jobqueue.E001", True)


def test_the_system_check_refuses_naive_times(settings: Any) -> None:
    assert times_are_aware() == []
    settings.USE_TZ = False
    (error,) = times_are_aware()

    assert (error.id, error.hint) == ("jobqueue.E006", "Set USE_TZ = True.")
