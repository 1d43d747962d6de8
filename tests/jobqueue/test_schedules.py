"""Schedules: one job for each time and tenant, whoever enqueues it, and at most one made up for."""

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.db.models import F

from dms_project.tenancy import use
from jobqueue import schedules
from jobqueue.models import JobSchedule, ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.schedules import Schedule, cron, every, schedule
from jobqueue.worker.scheduled_jobs import database_time, enqueue_due
from tests.faults.test_clocks import skewed
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants
from tests.testjobs import tasks

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _no_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "_schedules", {})


def declare(name: str = "hourly", expression: str = "0 * * * *", **options: Any) -> dict[str, Schedule]:
    return {name: schedule(name, cron(expression), JobSpec("test.ok", {"a": 1}, queue_name="slow"), **options)}


def test_a_new_schedule_begins_with_its_next_time_and_each_has_one_job(queue: Queue) -> None:
    hourly = declare()
    assert enqueue_due(queue, hourly, NOON) == []
    assert enqueue_due(queue, hourly, NOON + HOUR - timedelta(seconds=1)) == []
    (pk,) = enqueue_due(queue, hourly, NOON + HOUR)
    assert enqueue_due(queue, hourly, NOON + HOUR + timedelta(minutes=5)) == []

    job = queue.get(pk)
    assert (job.job_type, job.payload, job.queue_name) == ("test.ok", {"a": 1}, "slow")
    assert job.idempotency_key == "hourly 2026-11-30T13:00:00+00:00"


def test_after_an_outage_the_latest_time_is_made_up_for_and_no_other(queue: Queue) -> None:
    """Q37."""
    hourly = declare()
    enqueue_due(queue, hourly, NOON)

    (pk,) = enqueue_due(queue, hourly, NOON + 6.5 * HOUR)

    assert str(queue.get(pk).idempotency_key).endswith("18:00:00+00:00")
    assert enqueue_due(queue, hourly, NOON + 6.6 * HOUR) == []
    assert ProcessingJob.objects.count() == 1


def test_a_clock_that_is_set_back_enqueues_nothing_again(queue: Queue) -> None:
    hourly = declare()
    enqueue_due(queue, hourly, NOON)
    assert len(enqueue_due(queue, hourly, NOON + 3 * HOUR)) == 1
    ProcessingJob.objects.all().delete()  # nor does it matter that finished jobs are removed
    assert enqueue_due(queue, hourly, NOON + 2 * HOUR) == []
    assert enqueue_due(queue, hourly, NOON + 3 * HOUR) == []


def test_a_time_is_left_out_while_the_job_before_is_unfinished_if_so_wished(queue: Queue) -> None:
    hourly = declare(overlap=False)
    enqueue_due(queue, hourly, NOON)
    (first,) = enqueue_due(queue, hourly, NOON + HOUR)
    assert enqueue_due(queue, hourly, NOON + 2 * HOUR) == []
    assert queue.cancel(first)
    assert enqueue_due(queue, hourly, NOON + 2.5 * HOUR) == []
    assert len(enqueue_due(queue, hourly, NOON + 3 * HOUR)) == 1


def test_tasks_are_scheduled_with_their_options(queue: Queue) -> None:
    report = schedule("sum", every(HOUR), tasks.add.using(priority=5), args=[1], kwargs={"other": 2})
    enqueue_due(queue, {"sum": report}, NOON)
    (pk,) = enqueue_due(queue, {"sum": report}, NOON + HOUR)

    result = tasks.add.get_result(str(pk))
    assert (result.args, result.kwargs, result.task.priority) == ([1], {"other": 2}, 5)


def test_what_can_not_be_enqueued_is_left_out_with_the_reason_and_keeps_nothing_else_from_it(
    queue: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    broken = schedule("a broken one", every(HOUR), JobSpec("test.ok", {"secret": "\0"}))
    both = declare() | {"a broken one": broken}
    enqueue_due(queue, both, NOON)
    assert len(enqueue_due(queue, both, NOON + HOUR)) == 1
    assert "the job of 2026-11-30T13:00:00+00:00 can't be enqueued (InvalidJob)" in caplog.text
    row = JobSchedule.objects.get(name="a broken one")
    assert "payload can't be stored" in row.problem
    assert (row.last_at, row.next_at) == (None, NOON + 2 * HOUR)


def test_other_times_in_code_hold_from_the_next_one_on(queue: Queue) -> None:
    enqueue_due(queue, declare(), NOON)
    schedules._schedules.clear()
    monthly = declare(expression="30 0 1 * *")
    assert enqueue_due(queue, monthly, NOON + HOUR / 2) == []
    row = JobSchedule.objects.get()
    assert (row.timetable, row.next_at) == ("30 0 1 * * UTC", datetime(2026, 12, 1, 0, 30, tzinfo=UTC))


def test_what_was_due_by_other_times_is_done_first_and_once(queue: Queue) -> None:
    """While a program is replaced, the versions of it take turns."""
    old = declare()
    enqueue_due(queue, old, NOON)
    schedules._schedules.clear()
    new = declare(expression="30 * * * *")
    assert len(enqueue_due(queue, new, NOON + HOUR)) == 1, "that of 12:30"
    assert len(enqueue_due(queue, old, NOON + HOUR)) == 0, "it begins anew"
    assert JobSchedule.objects.get().next_at == NOON + 2 * HOUR


def test_what_is_not_in_this_program_stays_as_it_is(queue: Queue) -> None:
    enqueue_due(queue, declare(), NOON)
    assert enqueue_due(queue, {}, NOON + 5 * HOUR) == []
    assert JobSchedule.objects.get().next_at == NOON + HOUR


def test_one_that_was_made_in_the_admin_enqueues_what_its_row_says(queue: Queue) -> None:
    JobSchedule.objects.create(
        name="made by hand", timetable="every 1 h", job_type="test.ok", payload={"b": 2}, priority=7,
        next_at=NOON + HOUR, done_until=NOON,
    )  # fmt: skip
    (pk,) = enqueue_due(queue, {}, NOON + HOUR)
    job = queue.get(pk)
    assert (job.job_type, job.payload, job.priority) == ("test.ok", {"b": 2}, 7)
    assert JobSchedule.objects.get().last_job_id == pk


def test_a_paused_one_enqueues_nothing(queue: Queue) -> None:
    hourly = declare()
    enqueue_due(queue, hourly, NOON)
    JobSchedule.objects.update(paused=True, next_at=None)
    assert enqueue_due(queue, hourly, NOON + 3 * HOUR) == []


def test_schedules_may_be_those_of_some_tenants_alone() -> None:
    declare("everybody's")
    declare("the operators'", tenants=["public"])
    assert list(schedules.declared_in("acme")) == ["everybody's"]
    assert list(schedules.declared_in("public")) == ["everybody's", "the operators'"]


def test_a_name_has_one_schedule() -> None:
    declare()
    declare()  # the same once more: a module that is loaded again
    with pytest.raises(ValueError, match="another schedule called 'hourly'"):
        schedule("hourly", every(HOUR), JobSpec("test.ok", {}))
    with pytest.raises(ValueError, match="1 to 100 characters"):
        declare("x" * 101)
    with pytest.raises(ValueError, match="a list of names"):
        declare("other", tenants="acme")


def test_workers_that_look_at_the_same_moment_enqueue_one_job(both: BothTenants) -> None:
    """Q37: three of them, twenty times."""
    hourly, rounds = declare(), 20
    with use("acme"):
        enqueue_due(Queue(), hourly, NOON)
    barrier = threading.Barrier(3)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with use("acme"):
                for number in range(1, rounds + 1):
                    barrier.wait()
                    enqueue_due(Queue(), hourly, NOON + number * HOUR)
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    with use("acme"):
        keys = list(ProcessingJob.objects.values_list("idempotency_key", flat=True))
    assert len(keys) == len(set(keys)) == rounds


def test_running_workers_enqueue_each_time_once_whatever_their_clocks_say_and_wherever_it_is_moved(
    both: BothTenants, start: Start
) -> None:
    """Q36, Q37, Q40: two workers with a schedule of each second, one of them on a host ten minutes ahead."""
    began = database_time("default")
    variables = {"JOBQUEUE_TEST_SCHEDULES": "yes"}
    workers = [
        start("--name", "right", "--concurrency", "1", variables=variables),
        start("--name", "ahead", "--concurrency", "1", variables=variables | skewed("ahead")),
    ]

    def slots(tenant: str) -> list[datetime]:
        with use(tenant):
            keys = ProcessingJob.objects.filter(status="succeeded").values_list("idempotency_key", flat=True)
            return [datetime.fromisoformat(str(key).rpartition(" ")[2]) for key in keys.order_by("id")]

    def have_come(times: int) -> None:
        eventually(lambda: all(len(slots(name)) >= times for name in TENANTS), within=60, what=f"{times} times")

    have_come(2)
    for tenant in TENANTS:  # the database's clock jumps ahead by an hour
        with use(tenant):
            JobSchedule.objects.update(next_at=F("next_at") - HOUR, done_until=F("done_until") - HOUR)
    have_come(4)

    assert all(worker.terminate() == 0 for worker in workers)
    now = database_time("default")
    for tenant in TENANTS:
        assert slots(tenant) == sorted(set(slots(tenant)))
        assert all(began - timedelta(seconds=1) < slot <= now for slot in slots(tenant)), "and no hour is made up for"
