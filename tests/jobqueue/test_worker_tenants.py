"""One worker for all tenants: each job in its own schema, and a tenant in trouble stops nobody else."""

from pathlib import Path

from django.db import connection

from dms_project.tenancy import use
from dms_project.tenancy.schemas import create_tenant
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.waiting import eventually
from tests.jobqueue.workers import TENANTS, BothTenants, Twins
from tests.testjobs import ledger


def test_each_job_runs_in_its_own_tenant_and_is_recorded_there(both: BothTenants, start: Start) -> None:
    twins = [both.enqueue("test.ok", {"number": number}) for number in range(20)]
    with use("acme"):
        only_here = Queue().enqueue("test.ok", {"only": "acme"}).pk

    assert start("--drain", "--concurrency", "4").status() == 0

    for number, pair in enumerate(twins):
        assert pair.are(status="succeeded", attempts=1, result={"payload": {"number": number}})
        assert both.runs(pair) == [1, 1]
    assert both.runs(Twins({"acme": only_here})) == [1]
    with use("globex"):
        assert ProcessingJob.objects.count() == 20
    assert {entry["schema"] for entry in ledger.read(both.ledger_file)} == set(TENANTS)
    assert ProcessingJob.objects.count() == 0  # public has its own, and got none


def test_a_tenant_whose_schema_was_dropped_does_not_stop_the_others(both: BothTenants, start: Start) -> None:
    create_tenant("a_first_one", "first.localhost")
    worker = start(stale_lock_after=1.5)
    both.a_canary_passes()

    with use("a_first_one"):
        Queue().enqueue("test.of_nobody", {})  # so that there is a reason to look into it
    execute("DROP SCHEMA a_first_one CASCADE")
    worker.has_said("can't look into tenant a_first_one")

    for _ in range(5):
        both.a_canary_passes()
    assert worker.output.count("can't look into") == 1
    assert "Traceback" not in worker.output
    assert worker.terminate() == 0


def test_a_tenant_whose_jobs_vanish_while_one_runs_does_not_cost_the_others_their_locks(
    both: BothTenants, start: Start, tmp_path: Path
) -> None:
    create_tenant("a_first_one", "first.localhost")
    until = {"until": str(tmp_path / "go")}
    with use("a_first_one"):
        orphan = Twins({"a_first_one": Queue().enqueue("test.sleep", until).pk})
    running = both.enqueue("test.sleep", until)
    workers = [start("--concurrency", "4", stale_lock_after=1.5)]
    both.have_started(orphan)
    both.have_started(running)
    workers.append(start("--name", "second", stale_lock_after=1.5))
    workers[1].has_said("worker second")

    execute("DROP TABLE a_first_one.processing_jobs")
    dropped_at = [row.locked_at for row in running.rows()]
    eventually(
        lambda: all(
            (row.locked_at - then).total_seconds() > 2.5 for row, then in zip(running.rows(), dropped_at, strict=True)
        ),
        what="the other tenants' locks are renewed on and on",
    )
    (tmp_path / "go").touch()

    running.become("succeeded")
    assert any("manage.py migrate --check" in worker.output for worker in workers)  # where to look
    assert running.are(attempts=1)
    assert both.runs(running) == [1, 1]
    both.a_canary_passes()
    assert [worker.terminate() for worker in workers] == [0, 0]


def test_a_tenant_that_is_created_later_is_served_within_seconds(both: BothTenants, start: Start) -> None:
    worker = start()
    both.a_canary_passes()

    create_tenant("latecomer", "latecomer.localhost")
    with use("latecomer"):
        late = Twins({"latecomer": Queue().enqueue("test.ok", {}).pk})

    late.become("succeeded", within=10)
    assert both.runs(late) == [1]
    assert worker.terminate() == 0


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
