"""A worker's promise: an advisory lock that PostgreSQL drops with its connection. Missing for too long, it is dead."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.db.models import F

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows import maintenance
from jobqueue.sign_of_life import LOCK_CLASS, SignOfLife
from tests.jobqueue.jobs import Jobs, age_lock, columns, row

GRACE = timedelta(seconds=3)


class Holder:
    """Another worker's session, which shows a sign of life until it dies."""

    def __init__(self, url: str, key: int, lock_class: int = LOCK_CLASS) -> None:
        self.url, self.key, self.lock_class = url, key, lock_class
        self.show()

    def show(self) -> None:
        self.session = psycopg.connect(self.url, autocommit=True)
        self.session.execute("SELECT pg_advisory_lock(%s, %s)", [self.lock_class, self.key])

    def die(self) -> None:
        self.session.execute("SELECT pg_advisory_unlock_all()")  # at once, where the end of a session takes a moment
        self.session.close()


@pytest.fixture
def holder(database_url: str) -> Iterator[Holder]:
    holder = Holder(database_url, 4711)
    yield holder
    holder.session.close()


@pytest.fixture(autouse=True)
def grace(settings: Any) -> None:
    settings.JOBQUEUE = {**getattr(settings, "JOBQUEUE", {}), "SIGN_OF_LIFE_GRACE": GRACE}


def look(queue: Queue) -> None:
    """Let somebody look for dead workers, without claiming anything."""
    assert queue.dequeue_many("looker", 1, queue_names=["another"]) == []


def let_pass(duration: timedelta) -> None:
    """Make what is marked as missing be so for longer."""
    ProcessingJob.objects.update(suspected_since=F("suspected_since") - duration)


def test_a_job_whose_holder_lives_is_left_alone(queue: Queue, jobs: Jobs, holder: Holder) -> None:
    job = jobs.processing(holder_key=holder.key)
    before = columns(job)

    look(queue)

    assert columns(job) == before


def test_a_job_whose_holder_vanishes_is_marked_first_and_delivered_after_the_grace_time(
    queue: Queue, jobs: Jobs, holder: Holder
) -> None:
    job = jobs.processing(holder_key=holder.key)
    holder.die()

    look(queue)
    marked = row(job)
    assert marked.status == "processing"
    assert marked.suspected_since is not None

    let_pass(GRACE - timedelta(seconds=1))
    look(queue)
    assert row(job).status == "processing"

    let_pass(timedelta(seconds=1))
    claim = queue.dequeue("w2")
    assert (claim.pk, claim.attempts) == (job.pk, 2)
    assert (row(job).holder_key, row(job).suspected_since) == (None, None)
    assert row(job).last_error == "worker died (w1)"


def test_the_mark_is_not_moved_by_looking_again(queue: Queue, jobs: Jobs, holder: Holder) -> None:
    job = jobs.processing(holder_key=holder.key)
    holder.die()
    look(queue)
    since = row(job).suspected_since

    look(queue)

    assert row(job).suspected_since == since


def test_a_holder_that_comes_back_within_the_grace_time_is_unmarked(queue: Queue, jobs: Jobs, holder: Holder) -> None:
    job = jobs.processing(holder_key=holder.key)
    before = columns(job)
    holder.die()
    look(queue)
    assert row(job).suspected_since is not None

    holder.show()
    look(queue)

    assert columns(job) == before
    assert queue.still_held(job)


def test_a_holder_that_shows_itself_again_is_not_judged_by_an_old_mark(
    queue: Queue, jobs: Jobs, holder: Holder
) -> None:
    job = jobs.processing(holder_key=holder.key)
    holder.die()
    look(queue)
    let_pass(timedelta(hours=1))

    holder.show()
    look(queue)

    assert row(job).status == "processing"
    assert row(job).suspected_since is None


def test_the_grace_time_of_all_that_a_dead_worker_held_runs_at_once(
    queue: Queue, jobs: Jobs, holder: Holder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many look by look: not one batch after the other."""
    monkeypatch.setattr(maintenance, "_LIMIT", 2)
    for _ in range(5):
        jobs.processing(holder_key=holder.key)
    holder.die()
    for _ in range(3):
        assert queue.rescue() == 0

    let_pass(GRACE)

    assert [queue.rescue() for _ in range(3)] == [2, 2, 1]


@pytest.mark.parametrize("patient", [True, False])
def test_a_caller_that_looks_again_suspects_first_even_on_both_evidences(
    queue: Queue, jobs: Jobs, holder: Holder, patient: bool
) -> None:
    """A fail-over drops everybody's sign and may have kept everybody from renewing, with no restart to be seen."""
    job = jobs.processing(holder_key=holder.key)
    age_lock(job)
    holder.die()

    assert queue.rescue(patient=patient) == (0 if patient else 1)

    let_pass(GRACE)
    assert queue.rescue(patient=patient) == (1 if patient else 0)


def test_whoever_promised_no_sign_of_life_is_judged_by_the_lock_alone(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    before = columns(job)
    look(queue)
    assert columns(job) == before

    age_lock(job)
    assert queue.dequeue("w2").pk == job.pk


def test_a_holder_that_lives_but_does_not_renew_loses_the_job_after_the_grace_time(
    queue: Queue, jobs: Jobs, holder: Holder
) -> None:
    """A handler's long transaction keeps a living worker from renewing: it can do so as soon as that ends."""
    job = jobs.processing(holder_key=holder.key)
    age_lock(job)

    look(queue)
    assert queue.still_held(job)
    let_pass(GRACE)

    assert queue.dequeue("w2").pk == job.pk


def test_a_lock_that_is_renewed_within_the_grace_time_is_not_lost(queue: Queue, jobs: Jobs, holder: Holder) -> None:
    job = jobs.processing(holder_key=holder.key)
    age_lock(job)
    look(queue)

    assert queue.renew([job]) == [job]
    let_pass(timedelta(hours=1))
    look(queue)

    assert queue.still_held(job)
    assert row(job).suspected_since is None


def test_a_stale_lock_whose_holder_is_gone_is_delivered_at_once(queue: Queue, jobs: Jobs, holder: Holder) -> None:
    job = jobs.processing(holder_key=holder.key)
    age_lock(job)
    holder.die()

    assert queue.dequeue("w2").pk == job.pk


def test_without_a_grace_time_only_the_age_of_the_lock_counts(
    queue: Queue, jobs: Jobs, holder: Holder, settings: Any
) -> None:
    settings.JOBQUEUE = {**settings.JOBQUEUE, "SIGN_OF_LIFE_GRACE": None}
    job = jobs.processing(holder_key=holder.key)
    holder.die()
    look(queue)
    let_pass(timedelta(days=1))
    look(queue)
    assert row(job).status == "processing"

    age_lock(job)
    assert queue.dequeue("w2").pk == job.pk


def test_a_lock_of_another_kind_with_the_same_number_is_no_sign_of_life(
    queue: Queue, jobs: Jobs, database_url: str
) -> None:
    foreign = Holder(database_url, 4712, lock_class=7)
    job = jobs.processing(holder_key=foreign.key)

    look(queue)
    foreign.session.close()

    assert row(job).suspected_since is not None


def test_a_worker_that_dies_on_the_last_attempt_leaves_a_dead_letter(queue: Queue, jobs: Jobs, holder: Holder) -> None:
    job = jobs.processing(holder_key=holder.key, max_attempts=1)
    holder.die()
    look(queue)
    let_pass(GRACE)
    look(queue)

    dead = row(job)
    assert (dead.status, dead.last_error, dead.attempts) == ("dead_letter", "worker died (w1)", 1)
    assert [entry["outcome"] for entry in dead.history] == ["worker_died"]


def test_the_dead_are_told_from_the_living_job_by_job(
    queue: Queue, jobs: Jobs, holder: Holder, database_url: str
) -> None:
    other = Holder(database_url, 4713)
    dying, living = jobs.processing(holder_key=holder.key), jobs.processing("w2", holder_key=other.key)
    holder.die()
    look(queue)
    let_pass(GRACE)
    look(queue)
    other.session.close()

    assert (row(dying).status, row(living).status) == ("pending", "processing")


# A job whose worker died is claimed alone


def orphan(queue: Queue, jobs: Jobs, **options: Any) -> ProcessingJob:
    job = jobs.processing(**options)
    age_lock(job)
    look(queue)
    assert row(job).worker_deaths == 1
    return job


def test_a_rescued_job_is_claimed_alone_whatever_the_limit(queue: Queue, jobs: Jobs) -> None:
    lonely = orphan(queue, jobs, priority=50)
    others = [jobs.pending().pk for _ in range(3)]

    assert [job.pk for job in queue.dequeue_many("w2", 100)] == [lonely.pk]
    assert [job.pk for job in queue.dequeue_many("w2", 100)] == others


def test_a_batch_stops_before_a_rescued_job(queue: Queue, jobs: Jobs) -> None:
    before = [jobs.pending(priority=60).pk for _ in range(2)]
    lonely = orphan(queue, jobs, priority=100)
    ProcessingJob.objects.filter(pk=lonely.pk).update(priority=50)
    after = jobs.pending(priority=40)

    batches = [[job.pk for job in queue.dequeue_many("w2", 100)] for _ in range(3)]

    assert batches == [before, [lonely.pk], [after.pk]]


def test_two_rescued_jobs_are_not_claimed_together(queue: Queue, jobs: Jobs) -> None:
    first, second = orphan(queue, jobs, priority=60), orphan(queue, jobs, priority=100)
    ProcessingJob.objects.filter(pk=second.pk).update(priority=50)

    assert [len(queue.dequeue_many("w2", 100)) for _ in range(3)] == [1, 1, 0]
    assert row(first).status == row(second).status == "processing"


@pytest.mark.parametrize(("ending", "alone"), [("complete", False), ("fail", False), ("release", True)])
def test_a_job_that_let_its_worker_live_is_an_ordinary_one_again(
    queue: Queue, jobs: Jobs, ending: str, alone: bool
) -> None:
    job = orphan(queue, jobs)
    claim = queue.dequeue("w2")

    {
        "complete": lambda: queue.complete(claim),
        "fail": lambda: queue.fail(claim, "boom"),
        "release": lambda: queue.release([claim]),
    }[ending]()

    assert row(job).worker_deaths == int(alone)


# The worker's own side


@pytest.fixture
def sign(tenant: str) -> Iterator[SignOfLife]:
    yield SignOfLife("default")
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock_all()")  # the test's connection outlives the test


def advisory_locks(key: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s AND granted", [key])
        return int(cursor.fetchone()[0])


def test_showing_a_sign_of_life_twice_takes_one_lock(sign: SignOfLife) -> None:
    assert sign.show() is True
    assert sign.show() is True
    assert advisory_locks(sign.key) == 1


def test_a_sign_of_life_that_another_session_still_has_is_not_shown(sign: SignOfLife, holder: Holder) -> None:
    sign.key = holder.key

    assert sign.show() is False

    holder.die()
    assert sign.show() is True


def test_two_workers_show_different_signs() -> None:
    assert len({SignOfLife("default").key for _ in range(100)}) == 100
