"""Q30: a job exists exactly with the transaction that enqueued it, whichever way it went in."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from tests.jobqueue.concurrency import threads
from tests.jobqueue.conftest import Start
from tests.jobqueue.jobs import Jobs
from tests.jobqueue.workers import TENANTS, BothTenants, Twins


def one_by_each_way_in(queue: Queue) -> list[int]:
    soon = datetime.now(UTC) + timedelta(seconds=0.1)
    return [
        queue.enqueue("test.ok", {}, priority=9).pk,
        queue.enqueue("test.ok", {}, available_at=soon).pk,
        *(job.pk for job in queue.enqueue_many([JobSpec("test.ok", {}), JobSpec("test.ok", {}, available_at=soon)])),
    ]


def test_a_job_runs_only_after_its_transaction_commits_and_never_after_a_rollback(
    both: BothTenants, start: Start
) -> None:
    queue = Queue()
    worker = start()
    for tenant in TENANTS:
        with use(tenant):
            with transaction.atomic(), threads(1) as in_a_thread:
                kept = one_by_each_way_in(queue)
                with transaction.atomic():
                    dropped = one_by_each_way_in(queue)
                    transaction.set_rollback(True)  # the savepoint's work
                in_a_thread(both.a_canary_passes).result(60)  # the worker has looked meanwhile
                assert [both.runs(Twins({tenant: pk})) for pk in kept] == [[0]] * 4
            with transaction.atomic(), threads(1) as in_a_thread:
                gone = one_by_each_way_in(queue)
                in_a_thread(both.a_canary_passes).result(60)
                transaction.set_rollback(True)

            for pk in kept:
                Twins({tenant: pk}).become("succeeded")
            both.a_canary_passes()
            assert [both.runs(Twins({tenant: pk})) for pk in kept] == [[1]] * 4
            assert [both.runs(Twins({tenant: pk})) for pk in dropped + gone] == [[0]] * 8
            assert not ProcessingJob.objects.filter(pk__in=dropped + gone).exists()
    assert worker.terminate() == 0


def test_a_handler_enqueues_with_its_own_transaction(both: BothTenants, start: Start) -> None:
    committing = both.enqueue("test.enqueue", {"key": "kept", "then": "commit"})
    rolling_back = both.enqueue("test.enqueue", {"key": "dropped", "then": "roll back"})

    assert start("--drain").status() == 0

    assert committing.are(status="succeeded")
    assert rolling_back.are(status="succeeded")
    for tenant in TENANTS:
        with use(tenant):
            keyed = ProcessingJob.objects.exclude(idempotency_key=None)
            assert list(keyed.values_list("idempotency_key", "status")) == [("kept", "succeeded")]


def fail_in_django() -> None:
    with pytest.raises(IntegrityError):
        ProcessingJob.objects.create(job_type="test.ok", priority=1000)


def fail_behind_djangos_back() -> None:
    with connection.cursor() as cursor, pytest.raises(DatabaseError):
        cursor.execute("SELECT 1/0")


@pytest.mark.parametrize("abort", [fail_in_django, fail_behind_djangos_back])
@pytest.mark.parametrize("way_in", [lambda queue: queue.enqueue("test.ok", {}), one_by_each_way_in])
def test_enqueueing_in_an_aborted_transaction_is_an_error_and_writes_nothing(
    queue: Queue, jobs: Jobs, abort: Callable[[], None], way_in: Callable[[Queue], object]
) -> None:
    before = jobs.pending()
    with transaction.atomic():
        abort()
        with pytest.raises(DatabaseError):
            way_in(queue)
        transaction.set_rollback(True)

    assert ProcessingJob.objects.get().pk == before.pk
