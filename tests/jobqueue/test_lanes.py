"""Lanes: a claim over many of them comes in the one order that is promised, and marks only ever save work."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows import claims
from jobqueue.rows.claims import Wanted
from jobqueue.rows.lanes import FRONT_AT_LEAST_SECONDS, FRONT_SECONDS, Lane, Marks, Place, shares
from tests.jobqueue.test_query_plans import buffers, plan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
A, B = Lane("a", "default", 0), Lane("b", "default", 0)

specs = st.builds(
    JobSpec,
    job_type=st.sampled_from(["a", "b", "c"]),
    payload=st.just({}),
    queue_name=st.sampled_from(["default", "slow"]),
    priority=st.sampled_from([-100, -1, 0, 0, 7, 100]),
    available_at=st.sampled_from([NOW, NOW - timedelta(days=1), datetime(2999, 1, 1, tzinfo=UTC)]),
)
some = st.none() | st.lists(st.sampled_from(["a", "b", "default", "slow"]), max_size=3)


def in_order(jobs: list[ProcessingJob]) -> list[int]:
    return [job.pk for job in sorted(jobs, key=lambda job: (-job.priority, job.available_at, job.pk))]


@pytest.mark.usefixtures("db")
@settings(max_examples=60, deadline=None)
@given(st.lists(specs, max_size=25), st.integers(1, 8), some, some, st.booleans())
def test_claims_over_all_lanes_come_by_priority_then_due_time_then_id(
    wanted_jobs: list[JobSpec], limit: int, types: list[str] | None, queues: list[str] | None, marked: bool
) -> None:
    with use("acme"), transaction.atomic():
        jobs = Queue().enqueue_many(wanted_jobs)
        expected = in_order(
            [
                job
                for job in jobs
                if job.available_at <= NOW
                and (types is None or job.job_type in types)
                and (queues is None or job.queue_name in queues)
            ]
        )
        marks = Marks() if marked else None
        taken: list[int] = []
        for _ in range(2 * len(jobs) + 2):
            if marks is not None:
                marks.begin(0.0)
            found = claims.claim("default", Wanted(types, queues), limit, "w1", None, marks=marks)
            assert len(found.jobs) <= limit
            assert found.more == (len(found.jobs) == limit)
            taken += [job.pk for job in found.jobs]
            if marks is not None and not found.more:
                marks.forget()
        # Behind marks a new lane waits for the next look from the front, so only without them is the order strict.
        assert taken == expected if marks is None else sorted(taken) == sorted(expected)
        transaction.set_rollback(True)


def test_a_batch_ends_before_a_job_whose_worker_died_or_consists_of_it() -> None:
    assert shares([]) == ([], False)
    assert shares([(A, 0), (B, 0), (A, 0)]) == ([(A, 2), (B, 1)], False)
    assert shares([(A, 0), (B, 1), (A, 0)]) == ([(A, 1)], True)
    assert shares([(A, 1), (A, 0)]) == ([(A, 1)], True)
    assert shares([(B, 3), (A, 1)]) == ([(B, 1)], True)


def test_marks_are_good_for_a_short_time_and_longer_where_the_front_is_far() -> None:
    marks = Marks()
    marks.begin(100.0)
    assert not marks.looked_behind
    marks.advance(A, Place(NOW, 1), 100.001)
    marks.advance(A, Place(NOW, 2), 100.001)
    marks.begin(100.1)
    assert marks.looked_behind
    assert marks.places == {A: Place(NOW, 2)}
    marks.begin(100.002 + FRONT_SECONDS)
    assert not marks.looked_behind
    assert marks.places == {}

    marks.begin(200.0)
    marks.advance(A, Place(NOW, 3), 200.05)  # reading from the front took 0.05 s: it may take a twentieth of the time
    marks.begin(200.05 + 0.95)
    assert marks.looked_behind
    marks.begin(200.05 + 1.05)
    assert not marks.looked_behind

    marks.advance(A, Place(NOW, 4), 300.0)  # it took very long; but a job of higher priority must not wait for ever
    marks.begin(300.0 + FRONT_AT_LEAST_SECONDS + 0.1)
    assert not marks.looked_behind


def test_nothing_is_hidden_for_good_by_a_mark(committed_db: None) -> None:
    """A job that commits late, before the mark: the next look from the front finds it."""
    with use("acme"):
        late, *rest = Queue().enqueue_many(JobSpec("a", {}) for _ in range(3))
        ProcessingJob.objects.filter(pk=late.pk).update(available_at=datetime(2999, 1, 1, tzinfo=UTC))
        marks = Marks()
        marks.begin(0.0)
        with transaction.atomic():
            first = claims.claim("default", Wanted(), 5, "w1", None, marks=marks)
        ProcessingJob.objects.filter(pk=late.pk).update(available_at=late.available_at)
        marks.begin(0.1)
        with transaction.atomic():
            behind = claims.claim("default", Wanted(), 5, "w1", None, marks=marks)
        marks.forget()
        marks.begin(0.1)
        with transaction.atomic():
            front = claims.claim("default", Wanted(), 5, "w1", None, marks=marks)

    assert [job.pk for job in first.jobs] == [job.pk for job in rest]
    assert behind.jobs == []
    assert [job.pk for job in front.jobs] == [late.pk]


def test_behind_its_mark_a_claim_reads_no_dead_entries_of_an_old_snapshot(
    committed_db: None, database_url: str
) -> None:
    """Q45: while somebody holds an old snapshot, what was claimed stays in the index."""
    with use("acme"), psycopg.connect(database_url) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("SELECT count(*) FROM pg_class")
        Queue().enqueue_many(JobSpec("a", {}) for _ in range(6_000))
        marks = Marks()

        def read_by_a_batch(marks: Marks | None) -> int:
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                claims.claim("default", Wanted(["a"]), 100, "w1", None, marks=marks)
            *looks, _update = (query["sql"] for query in queries if "processing_jobs" in query["sql"])
            return sum(buffers(plan(look)) for look in looks)

        marks.begin(0.0)
        at_first = read_by_a_batch(marks)
        marks.begin(0.1)
        for _ in range(50):
            behind_marks = read_by_a_batch(marks)
        from_the_front = read_by_a_batch(None)

    assert behind_marks < at_first * 1.5
    assert from_the_front > behind_marks * 3


def test_what_others_have_locked_in_one_lane_hides_nothing_in_the_others(committed_db: None, database_url: str) -> None:
    """A look counts rows that it can't lock; what is missing then is taken from other lanes."""
    with use("acme"), psycopg.connect(database_url) as other:
        first, *rest = Queue().enqueue_many(
            [JobSpec("a", {}, priority=9), *(JobSpec("b", {}, queue_name=f"q{n}") for n in range(5))]
        )
        other.execute("SELECT FROM acme.processing_jobs WHERE id IN (%s, %s) FOR UPDATE", [first.pk, rest[0].pk])

        assert Queue().dequeue("w1").pk == rest[1].pk
        assert [job.pk for job in Queue().dequeue_many("w1", 100)] == [job.pk for job in rest[2:]]
        assert Queue().dequeue_many("w1", 100) == []
        other.rollback()
        assert [job.pk for job in Queue().dequeue_many("w1", 100)] == [first.pk, rest[0].pk]


def test_a_paused_queue_is_not_claimed_from_behind_a_mark_either(committed_db: None) -> None:
    with use("acme"):
        Queue().enqueue_many(JobSpec("a", {}) for _ in range(9))
        marks = Marks()
        marks.begin(0.0)
        with transaction.atomic():
            assert len(claims.claim("default", Wanted(), 3, "w1", None, marks=marks).jobs) == 3
        Queue().pause("default")
        marks.begin(0.1)
        assert marks.only_lane is not None
        with transaction.atomic():
            assert claims.claim("default", Wanted(), 3, "w1", None, marks=marks).jobs == []


def test_a_mark_does_not_pass_what_was_left_for_a_claim_of_its_own(committed_db: None) -> None:
    with use("acme"):
        jobs = Queue().enqueue_many(JobSpec("a", {}) for _ in range(6))
        ProcessingJob.objects.filter(pk__in=[jobs[1].pk, jobs[2].pk]).update(worker_deaths=1)
        marks, taken = Marks(), []
        for _ in range(4):
            marks.begin(0.0)
            with transaction.atomic():
                found = claims.claim("default", Wanted(), 10, "w1", None, marks=marks)
            taken.append([jobs.index(job) for job in found.jobs])
            assert found.more == (len(taken) < 4)

    assert taken == [[0], [1], [2], [3, 4, 5]]


def test_what_comes_when_nothing_was_due_is_looked_for_where_jobs_came_last() -> None:
    lane, marks = A, Marks()
    assert not marks.guess()  # nothing is known yet
    marks.begin(1.0)
    marks.advance(lane, Place(NOW, 7), 1.0)
    assert not marks.guess()  # more may be due

    marks.forget()
    marks.found_nothing()

    assert marks.guess()
    assert marks.only_lane == lane
    assert marks.places[lane] < Place(NOW, 0)
    assert marks.looked_behind  # so that all lanes are looked into afterwards
    marks.advance(lane, Place(NOW, 8), 1.1)
    marks.begin(1.1)
    assert not marks.looked_behind


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("lanes", [2, 40])
def test_a_claim_over_many_lanes_takes_three_statements(lanes: int) -> None:
    """The look, the locks and the claim itself; Django projects have dozens of job types."""
    with use("acme"):
        queue = Queue()
        queue.enqueue_many([JobSpec(f"type {number % lanes}", {}) for number in range(80)])

        with transaction.atomic(), CaptureQueriesContext(connection) as captured:
            claimed = claims.claim(queue.using, Wanted(), 80, "w1", None)

        assert len(claimed.jobs) == 80
        assert [query["sql"].split()[0] for query in captured] == ["WITH", "SELECT", "UPDATE"]
