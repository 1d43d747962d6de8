"""Requeueing slowly: one, then ever more at a time, and no further once one fails again."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from jobqueue.control import requeueing
from jobqueue.control.requeueing import Requeued, requeue_slowly
from jobqueue.management.output import ProgressBar
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus
from tests.jobqueue.jobs import Jobs, row

NO_PATIENCE = timedelta(seconds=-1)


@pytest.fixture
def dead(jobs: Jobs) -> list[int]:
    return [jobs.dead_letter().pk for _ in range(7)]


class Between:
    """Stands for the time between two looks, in which a worker works."""

    work: Callable[[float], None] = staticmethod(lambda seconds: None)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    between = Between()
    monkeypatch.setattr(requeueing, "sleep", lambda seconds: between.work(seconds))
    return between


def requeue(ids: list[int], patience: timedelta = timedelta(minutes=5)) -> Requeued:
    *_, outcome = requeue_slowly("default", ids, patience=patience)
    return outcome


def test_when_all_goes_well_ever_more_are_tried_at_once(dead: list[int], queue: Queue, between: Between) -> None:
    batches = []

    def work(seconds: float) -> None:
        jobs = queue.dequeue_many("w1", 100)
        batches.append(len(jobs))
        for job in jobs:
            queue.complete(job)

    between.work = work
    assert requeue(dead) == Requeued(requeued=7, succeeded=7)
    assert batches == [1, 2, 4]


def test_when_one_fails_again_the_rest_stay_dead_letters(dead: list[int], queue: Queue, between: Between) -> None:
    def work(seconds: float) -> None:
        for job in queue.dequeue_many("w1", 100):
            if job.pk == dead[2]:
                queue.fail(job, "no use")
            else:
                queue.complete(job)

    between.work = work
    assert requeue(dead) == Requeued(requeued=3, succeeded=2, failed=[dead[2]])
    assert [row(ProcessingJob(pk=pk)).status for pk in dead[3:]] == [JobStatus.DEAD_LETTER] * 4


def test_a_job_that_dies_at_once_has_failed_too(dead: list[int], queue: Queue, between: Between) -> None:
    def work(seconds: float) -> None:
        queue.fail(queue.dequeue("w1"), "no use", retry=False)

    between.work = work
    assert requeue(dead) == Requeued(requeued=1, failed=dead[:1])


def test_without_a_worker_it_gives_up(dead: list[int], between: Between) -> None:
    assert requeue(dead, NO_PATIENCE) == Requeued(requeued=1, stuck=True)


def test_a_job_that_takes_long_tries_nobodys_patience(dead: list[int], queue: Queue, between: Between) -> None:
    running: list[ProcessingJob] = []
    looks: list[float] = []

    def work(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) == 1:
            running.append(queue.dequeue("w1"))
        if len(looks) == 5:
            queue.complete(running[0])

    between.work = work
    assert requeue(dead[:1], NO_PATIENCE) == Requeued(requeued=1, succeeded=1)


def test_what_somebody_else_decided_about_is_left_alone(dead: list[int], queue: Queue, between: Between) -> None:
    queue.discard(dead[0])
    assert requeue(dead[:1]) == Requeued(left_alone=1)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("jobs", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_the_command_requeues_all_of_a_cause(dead: list[int], queue: Queue, tenant: str, between: Between) -> None:
    def work(seconds: float) -> None:
        for job in queue.dequeue_many("w1", 100):
            queue.complete(job)

    between.work = work
    assert run("causes", "--tenant", tenant).splitlines()[1].split() == [tenant, "7", "test.ok", "no", "use"]
    with pytest.raises(CommandError, match="No dead letter died of 'no use'"):
        run("requeue", "--cause", "no use", "--type", "other", "--tenant", tenant)
    assert run("requeue", "--cause", "no use", "--tenant", tenant) == "requeued: 7, of which succeeded: 7\n"
    assert run("causes", "--tenant", tenant) == "no dead letters\n"


def test_the_command_says_why_it_stopped(dead: list[int], queue: Queue, tenant: str, between: Between) -> None:
    def work(seconds: float) -> None:
        queue.fail(queue.dequeue("w1"), "no use")

    between.work = work
    with pytest.raises(CommandError, match=f"job {dead[0]} failed again.*jobs show {dead[0]} --tenant {tenant}"):
        run("requeue", "--cause", "no use", "--tenant", tenant)


@pytest.mark.parametrize("arguments", [("requeue",), ("requeue", "1", "--cause", "x")])
def test_ids_and_a_cause_exclude_each_other(arguments: tuple[str, ...], tenant: str) -> None:
    with pytest.raises(CommandError, match="Say which: ids, or a --cause"):
        run(*arguments, "--tenant", tenant)


def test_what_works_and_what_waits_can_be_listed(jobs: Jobs, tenant: str, queue: Queue) -> None:
    running = jobs.processing("web1:17", queue_name="mail")
    queue.pause("mail")

    _, line = run("workers", "--tenant", tenant).splitlines()
    assert line.split()[:3] == [tenant, "web1:17", "not"]
    assert str(running.pk) in line
    _, line = run("queues", "--tenant", tenant).splitlines()
    assert line.split()[:4] == [tenant, "mail", "0", "1"]


def test_a_bar_is_drawn_for_people_alone() -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    for stream, expected in ((Terminal(), "\r[###############...............] 5 of 10 jobs\033[K"), (StringIO(), "")):
        bar = ProgressBar(stream, 10)
        bar.show(5, "jobs")
        bar.show(6, "jobs")  # too soon to be seen
        assert stream.getvalue() == expected
