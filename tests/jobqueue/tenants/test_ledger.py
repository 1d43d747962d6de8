"""What a worker reads from the ledger, what it leaves there, and what the sweep repairs."""

from importlib import import_module

import psycopg
import pytest
from django.apps import apps
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import fleet, use
from dms_project.tenancy.schemas import create_tenant
from jobqueue.queue import JobSpec, Queue
from jobqueue.tenants.ledger import WakeupLedger
from jobqueue.tenants.models import Sweep, Wakeup
from jobqueue.worker.agenda import Agenda
from tests.jobqueue.tenants.sessions import rows, settle
from tests.jobqueue.test_query_plans import buffers, plan

pytestmark = pytest.mark.usefixtures("committed_db")


def test_a_look_has_the_tenants_with_something_now_or_soon_and_no_others(tenant: str) -> None:
    Queue().enqueue("test.ok", {})
    with use("public"):
        assert list(WakeupLedger("default").look()) == [tenant]


def test_many_jobs_of_an_awake_tenant_are_one_row(tenant: str) -> None:
    for _ in range(5):
        Queue().enqueue("test.ok", {})
    Queue().enqueue_many(JobSpec("test.ok", {}) for _ in range(100))
    assert len(rows(tenant)) == 1


def test_a_tenant_with_nothing_to_do_has_no_row(tenant: str) -> None:
    job = Queue().enqueue("test.ok", {})
    assert settle(tenant) is False
    Queue().cancel(job.pk)
    assert settle(tenant) is True
    assert rows(tenant) == []


def test_where_jobs_run_somebody_looks_again_soon(tenant: str) -> None:
    Queue().enqueue("test.ok", {})
    Queue().dequeue("w")
    assert settle(tenant) is True
    (due,) = rows(tenant)
    assert 5 < due <= 10


def test_a_job_whose_queue_is_paused_leaves_its_tenant_asleep_until_it_is_resumed(tenant: str) -> None:
    Queue().enqueue("test.ok", {})
    Queue().pause("default")
    assert settle(tenant) is True
    assert rows(tenant) == []
    Queue().resume("default")
    assert len(rows(tenant)) == 1


def test_the_sweep_wakes_whoever_was_forgotten_and_nobody_else(tenant: str) -> None:
    Queue().enqueue("test.ok", {})
    Wakeup.objects.all().delete()
    with use("public"):
        Sweep.objects.all().delete()  # its turn has never been
        again_in = WakeupLedger("default").sweep(fleet.names)
        assert WakeupLedger("default").sweep(fleet.names) > 60, "it is the fleet's turn, not each worker's"
    assert again_in > 60
    assert list(Wakeup.objects.values_list("tenant", flat=True)) == [tenant]


def test_a_schema_without_the_table_of_jobs_does_not_stop_the_sweep(tenant: str) -> None:
    Queue().enqueue("test.ok", {})
    Wakeup.objects.all().delete()
    with use("public"):
        Sweep.objects.all().delete()  # its turn has never been
        WakeupLedger("default").sweep(lambda: [*fleet.names(), "no_such_schema"])
    assert list(Wakeup.objects.values_list("tenant", flat=True)) == [tenant]


def test_the_migration_notes_the_jobs_that_wait_and_can_be_taken_back(tenant: str) -> None:
    migration = import_module("jobqueue.tenants.migrations.0001_wakeups")
    with transaction.atomic(), connection.schema_editor() as editor:
        migration.uninstall(apps, editor)
        Queue().enqueue("test.ok", {})
        assert rows(tenant) == []
        migration.install(apps, editor)
        assert len(rows(tenant)) == 1


def test_a_tenant_that_was_deleted_is_struck_out_and_a_new_one_is_served_at_once(tenant: str) -> None:
    with use("public"):
        Wakeup.objects.create(tenant="gone", due_at="2020-01-01T00:00Z")
        agenda = Agenda(fleet, None, WakeupLedger("default"), lambda: True)
        agenda.refresh()
        assert agenda.due() == []
        assert not Wakeup.objects.exists()
        create_tenant("latecomer", "latecomer.localhost")
        with use("latecomer"):
            Queue().enqueue("test.ok", {})
        agenda._read_at -= 2  # strangers make it read again, but not each time
        agenda.wake("latecomer")
        agenda.refresh()
        assert agenda.due() == ["latecomer"]
        assert agenda.seconds_to_next() == 0


def test_while_a_snapshot_is_held_a_look_reads_only_what_is_new_however_much_has_come_and_gone(
    tenant: str, database_url: str
) -> None:
    """What is removed stays in the index for as long as somebody may see it, and a look from the front reads it."""
    Queue().enqueue("test.ok", {})
    ledger = WakeupLedger("default")
    with psycopg.connect(database_url) as holder, use("public"):
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("SELECT count(*) FROM pg_class")
        assert read_by(ledger, from_the_front=True) < 20
        before = read_by(ledger)
        for _ in range(10):
            with connection.cursor() as cursor:
                cursor.execute(COME, [tenant])
                cursor.execute("DELETE FROM public.jobqueue_wakeups WHERE due_at < now() - interval '30s'")
        assert read_by(ledger, from_the_front=True) > 10 * before
        assert read_by(ledger) <= before + 2  # the tree is higher now
        assert list(ledger.look()) == [tenant]


COME = """
INSERT INTO public.jobqueue_wakeups (tenant, due_at)
SELECT %s, now() - make_interval(secs => 60 + number * 0.01) FROM generate_series(1, 1000) AS number
"""


def read_by(ledger: WakeupLedger, *, from_the_front: bool = False) -> int:
    """Return how many pages a look reads."""
    ledger._front_again_at = float("-inf" if from_the_front else "inf")
    with CaptureQueriesContext(connection) as queries:
        assert ledger.look()
    return buffers(plan(queries[0]["sql"]))
