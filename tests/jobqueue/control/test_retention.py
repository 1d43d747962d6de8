"""Finished jobs are removed by their status and age, in batches, and nothing else ever is."""

from datetime import timedelta
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from dms_project.tenancy import use
from jobqueue.control import retention
from jobqueue.control.retention import prune
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.states import JobStatus
from tests.jobqueue.jobs import Jobs

DAY = timedelta(days=1)


def age(by: timedelta, *jobs: ProcessingJob) -> None:
    """Let these jobs, or all, be older."""
    rows = ProcessingJob.objects.filter(pk__in=[job.pk for job in jobs]) if jobs else ProcessingJob.objects.all()
    rows.update(created_at=F("created_at") - by, finished_at=F("finished_at") - by)


def left() -> set[int]:
    return set(ProcessingJob.objects.values_list("pk", flat=True))


def test_each_status_has_its_age_and_what_is_unfinished_stays(jobs: Jobs) -> None:
    succeeded, cancelled, discarded = jobs.succeeded(), jobs.cancelled(), jobs.discarded()
    unfinished = {jobs.pending().pk, jobs.processing().pk, jobs.dead_letter().pk}
    age(10 * DAY)
    young = jobs.succeeded()

    assert sum(prune("default", {JobStatus.SUCCEEDED: 11 * DAY})) == 0
    assert sum(prune("default", {JobStatus.SUCCEEDED: 9 * DAY}, dry_run=True)) == 1
    assert sum(prune("default", {JobStatus.SUCCEEDED: 9 * DAY})) == 1
    assert left() == {cancelled.pk, discarded.pk, young.pk} | unfinished
    assert sum(prune("default", {JobStatus.FAILED: 9 * DAY, JobStatus.SUCCEEDED: 9 * DAY})) == 2
    assert left() == {young.pk} | unfinished
    assert succeeded.pk not in left()


def test_an_unfinished_status_is_refused(jobs: Jobs) -> None:
    with pytest.raises(ValueError, match="dead_letter are not finished, and never removed"):
        list(prune("default", {JobStatus.DEAD_LETTER: DAY}))


def test_it_goes_in_batches_and_reads_nothing_that_is_too_young(
    queue: Queue, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    queue.enqueue_many([JobSpec("test.ok", {})] * 25)
    queue.complete_many([(job, None) for job in queue.dequeue_many("w1", 25)])
    age(10 * DAY)
    queue.enqueue_many([JobSpec("test.ok", {})] * 50)

    with CaptureQueriesContext(connection) as queries:
        assert list(prune("default", {JobStatus.SUCCEEDED: DAY})) == [10, 10, 5]
    reads = [each for each in queries if "finished_at" in each["sql"] and each["sql"].startswith("SELECT")]
    assert len(reads) == 4  # three batches, and a look at the first job that is too young
    assert ProcessingJob.objects.count() == 50


def test_with_a_job_its_key_is_free_again(queue: Queue) -> None:
    first = queue.enqueue("test.ok", {}, idempotency_key="once")
    queue.complete(queue.dequeue("w1"))
    list(prune("default", {JobStatus.SUCCEEDED: -DAY}))
    again = queue.enqueue("test.ok", {}, idempotency_key="once")
    assert (again.created, again.pk == first.pk) == (True, False)


def test_a_locked_row_is_left_to_the_next_run(committed_db: None, database_url: str) -> None:
    with use("acme"):
        queue = Queue()
        queue.enqueue_many([JobSpec("test.ok", {})] * 3)
        done = queue.dequeue_many("w1", 3)
        queue.complete_many([(job, None) for job in done])
        with psycopg.connect(database_url) as other:
            other.execute("SELECT FROM acme.processing_jobs WHERE id = %s FOR UPDATE", [done[1].pk])
            assert sum(prune("default", {JobStatus.SUCCEEDED: -DAY})) == 2
        assert sum(prune("default", {JobStatus.SUCCEEDED: -DAY})) == 1


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("jobs", "prune", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_removes_in_one_tenant_or_in_all(jobs: Jobs, tenant: str) -> None:
    jobs.succeeded()
    jobs.cancelled()
    age(10 * DAY)
    assert run("--succeeded", "24h", "--failed", "9d", "--dry-run", "--tenant", tenant).startswith(f"{tenant}: 2 jobs")
    assert run("--succeeded", "24h").splitlines()[-1] == "in all: 1 job removed"
    assert [job.status for job in ProcessingJob.objects.all()] == [JobStatus.FAILED]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((), "Say how long: --succeeded AGE, --failed AGE"), (("--failed", "7 weeks"), "an age such as 30d, 12h or 0")],
)
def test_without_an_age_nothing_is_removed(arguments: tuple[str, ...], message: str, tenant: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(*arguments, "--tenant", tenant)
