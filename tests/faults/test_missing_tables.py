"""What a worker does with an ending whose tenant's table isn't there: for a moment, for long, or for good."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from dms_project.tenancy import use
from dms_project.tenancy.schemas import create_tenant, delete_tenant
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.conftest import Start
from tests.jobqueue.workers import BothTenants, Twins


@pytest.fixture
def go(tmp_path: Path) -> Path:
    return tmp_path / "go"


def enqueue(tenant: str, go: Path) -> Twins:
    """A job that ends when ``go`` is there, without asking the database."""
    with use(tenant):
        return Twins({tenant: Queue().enqueue("test.sleep", {"until": str(go), "offline": True}).pk})


@contextmanager
def no_jobs_in(tenant: str) -> Iterator[None]:
    execute(f"ALTER TABLE {tenant}.processing_jobs RENAME TO elsewhere")
    yield
    execute(f"ALTER TABLE {tenant}.elsewhere RENAME TO processing_jobs")


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_an_ending_is_recorded_when_the_table_is_back(both: BothTenants, start: Start, go: Path) -> None:
    running = enqueue("acme", go)
    worker = start()
    both.have_started(running)

    with no_jobs_in("acme"):
        go.touch()
        worker.has_said("can't record how 1 jobs ended in tenant acme, trying on")

    running.become("succeeded")
    assert running.are(attempts=1)
    assert both.runs(running) == [1]
    assert "Traceback" not in worker.output
    assert worker.terminate() == 0


def test_an_ending_is_given_up_when_its_lock_would_be_stale_and_the_job_runs_again(
    both: BothTenants, start: Start, go: Path
) -> None:
    running = enqueue("acme", go)
    worker = start(stale_lock_after=2)
    both.have_started(running)

    with no_jobs_in("acme"):
        go.touch()
        worker.has_said(f"not recorded job={running.ids['acme']}")

    running.become("succeeded")
    assert running.are(attempts=2)
    both.a_canary_passes()
    assert "Traceback" not in worker.output
    assert worker.terminate() == 0


def test_a_tenant_that_is_deleted_while_its_jobs_run_is_one_line(both: BothTenants, start: Start, go: Path) -> None:
    create_tenant("a_first_one", "first.localhost")
    running = enqueue("a_first_one", go)
    worker = start()
    both.have_started(running)

    delete_tenant("a_first_one")
    go.touch()

    worker.has_said("tenant a_first_one is gone, and with it 1 jobs that ran")
    both.a_canary_passes()
    assert "ERROR" not in worker.output
    assert "Traceback" not in worker.output
    assert worker.terminate() == 0


@pytest.fixture
def refusing(both: BothTenants) -> Iterator[None]:
    execute("""
        CREATE FUNCTION acme.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON acme.processing_jobs FOR EACH ROW
            WHEN (new.status = 'succeeded' AND new.payload ? 'refused') EXECUTE FUNCTION acme.refuse();
    """)
    yield
    execute("DROP FUNCTION IF EXISTS acme.refuse CASCADE")


@pytest.mark.usefixtures("refusing")
def test_an_ending_that_the_database_refuses_keeps_no_other_from_being_recorded(
    both: BothTenants, start: Start
) -> None:
    worker = start()
    with use("acme"):
        jobs = Queue().enqueue_many([JobSpec("test.ok", {"refused": True}), *[JobSpec("test.ok", {})] * 20])
    worker.has_said("can't record how")
    for job in jobs[1:]:
        Twins({"acme": job.pk}).become("succeeded")
    later = both.enqueue("test.ok", {})
    later.become("succeeded")

    refused = Twins({"acme": jobs[0].pk})
    assert refused.are(status="processing")
    execute("DROP FUNCTION acme.refuse CASCADE")
    refused.become("succeeded")
    assert refused.are(attempts=1)
    assert worker.output.count("can't record how") == 1
    assert worker.terminate() == 0
