"""Whose schedules are due, as the fleet reads it from one table: nobody is visited for nothing, or forgotten."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import fleet, use
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from jobqueue import schedules
from jobqueue.models import JobSchedule, ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.schedules import cron, every, schedule
from jobqueue.tenants.ledger import WakeupLedger
from jobqueue.tenants.models import DueSchedule
from jobqueue.worker.scheduler import Scheduler

pytestmark = pytest.mark.usefixtures("committed_db")
TENANTS = ["acme", "globex"]
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def yearly(monkeypatch: pytest.MonkeyPatch) -> None:
    """One schedule, which is not due by itself."""
    monkeypatch.setattr(schedules, "_schedules", {})
    schedule("yearly", cron("0 0 1 1 *"), JobSpec("test.ok", {}), tenants=TENANTS)


def turns() -> float:
    """Let a new worker's scheduler take turns until it would wait, and return for how long."""
    scheduler = Scheduler(Queue(), fleet, None)
    while not (wait := scheduler._turn()):
        pass
    return wait


def make_due(tenant: str) -> None:
    with use(tenant):
        JobSchedule.objects.update(next_at=Now() - HOUR, done_until=F("done_until") - timedelta(days=400))


def jobs() -> dict[str, int]:
    counts = {}
    for tenant in fleet.names():
        with use(tenant):
            counts[tenant] = ProcessingJob.objects.count()
    return counts


def take() -> list[str]:
    return list(WakeupLedger("default").take_due_schedules(["yearly"], None)[0])


def test_each_tenant_gets_a_schedule_that_is_new_and_a_job_when_it_is_due() -> None:
    assert turns() > 1
    assert set(jobs().values()) == {0}
    make_due("acme")
    assert turns() > 1
    assert jobs() == {"public": 0, "acme": 1, "globex": 0}


def test_where_nothing_is_due_a_look_is_one_statement_and_nobody_is_visited() -> None:
    turns()
    scheduler = Scheduler(Queue(), fleet, None)
    assert scheduler._turn() > 1  # the first one looks for tenants that are new, too
    with CaptureQueriesContext(connection) as queries:
        assert scheduler._turn() > 1
    assert len(queries) == 1, queries.captured_queries


def test_workers_share_out_what_is_due_and_take_over_from_one_that_died() -> None:
    turns()
    make_due("acme")
    make_due("globex")
    assert sorted(take()) == TENANTS
    assert take() == [], "another worker does it"
    assert DueSchedule.objects.filter(due_at__lte=Now() + timedelta(seconds=30)).count() == 2, "for so long"
    DueSchedule.objects.update(due_at=Now())
    turns()
    assert jobs() == {"public": 0, "acme": 1, "globex": 1}
    assert take() == []


def test_a_paused_schedule_is_not_due_and_a_deleted_one_is_forgotten() -> None:
    turns()
    with use("acme"):
        JobSchedule.objects.update(next_at=None, paused=True)
    assert DueSchedule.objects.get(tenant="acme").due_at is None
    with use("acme"):
        JobSchedule.objects.all().delete()
    assert not DueSchedule.objects.filter(tenant="acme").exists()


def test_one_that_was_made_in_the_admin_is_known_to_every_worker() -> None:
    with use("globex"):
        JobSchedule.objects.create(
            name="by hand", timetable="every 1 h", job_type="test.ok", next_at=Now(), done_until=Now() - 2 * HOUR
        )
    assert WakeupLedger("default").take_due_schedules([], ["acme"]) == ([], float("inf"))
    turns()
    assert jobs()["globex"] == 1


def test_who_lacks_a_schedule_or_has_it_at_other_times_is_found_by_one_statement() -> None:
    def found() -> list[str]:
        return sorted(WakeupLedger("default").without_schedules(fleet.names(), schedules.declared()))

    assert found() == TENANTS
    turns()
    assert found() == []
    schedules._schedules.clear()
    schedule("yearly", every(HOUR), JobSpec("test.ok", {}))
    assert found() == [*TENANTS, "public"]
    turns()
    assert found() == []


def test_a_deleted_tenants_schedules_are_struck_out_and_its_successor_gets_its_own() -> None:
    create_tenant("shortlived", "shortlived.localhost")
    schedules._schedules.clear()
    schedule("yearly", cron("0 0 1 1 *"), JobSpec("test.ok", {}))
    turns()
    delete_tenant("shortlived")
    DueSchedule.objects.filter(tenant="shortlived").update(due_at=Now())
    turns()
    assert not DueSchedule.objects.filter(tenant="shortlived").exists()
    create_tenant("shortlived", "shortlived.localhost")
    turns()
    with use("shortlived"):
        assert JobSchedule.objects.count() == 1


def test_what_the_table_has_lost_is_written_anew() -> None:
    turns()
    DueSchedule.objects.all().delete()
    turns()
    assert DueSchedule.objects.count() == 2


def test_a_tenant_in_trouble_keeps_nobody_else_from_its_jobs(caplog: Any) -> None:
    turns()
    make_due("acme")
    make_due("globex")
    with use("acme"), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE job_schedules RENAME TO elsewhere")
    try:
        turns()
    finally:
        with use("acme"), connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO job_schedules")
    assert jobs() == {"public": 0, "acme": 0, "globex": 1}
    assert "can't look after schedules in tenant acme, trying on" in caplog.text
