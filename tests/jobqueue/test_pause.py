"""A paused queue: nothing is claimed from it, what runs goes on, and others don't notice."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from jobqueue.exceptions import InvalidJob
from jobqueue.queue import Queue
from jobqueue.rows.claims import Wanted, waits_alone
from tests.jobqueue.conftest import Start
from tests.jobqueue.jobs import MINUTES, Jobs, age_lock, row
from tests.jobqueue.workers import BothTenants


def claimed(queue: Queue) -> list[int]:
    return [job.pk for job in queue.dequeue_many("w1", 100)]


def test_nothing_is_claimed_from_a_paused_queue_until_it_is_resumed(queue: Queue, jobs: Jobs) -> None:
    slow, default = jobs.pending(queue_name="slow", priority=50), jobs.pending()

    assert queue.pause("slow") is True
    assert queue.pause("slow") is False
    assert queue.paused_queues() == ["slow"]
    assert claimed(queue) == [default.pk]

    assert queue.resume("slow") is True
    assert queue.resume("slow") is False
    assert queue.paused_queues() == []
    assert claimed(queue) == [slow.pk]


def test_what_runs_can_end_in_any_way(queue: Queue, jobs: Jobs) -> None:
    done, failed = jobs.processing(), jobs.processing()
    queue.pause("default")

    queue.complete(done)
    assert queue.fail(failed, "boom") == "pending"
    assert claimed(queue) == []


def test_a_job_that_must_run_alone_waits_too(queue: Queue, jobs: Jobs) -> None:
    job = jobs.processing()
    for _ in range(2):
        age_lock(job, MINUTES)
        queue.rescue()
        assert row(job).status == "pending"
        job = jobs.claim(job)
    age_lock(job, MINUTES)
    queue.rescue()
    assert row(job).worker_deaths == 3

    queue.pause("default")
    assert not waits_alone(queue.using, Wanted())
    assert queue.dequeue_many("w1", 1, alone=True) == []
    queue.resume("default")
    assert waits_alone(queue.using, Wanted())


@pytest.mark.parametrize("name", ["", "x" * 101, "nul\0"])
def test_what_cant_be_a_queue_is_refused(queue: Queue, name: str) -> None:
    with pytest.raises(InvalidJob, match="queue_name"):
        queue.pause(name)


def test_workers_obey_at_once_and_start_again_at_once(both: BothTenants, start: Start) -> None:
    worker = start(poll_interval=600)
    both.a_canary_passes()

    call_command("jobs", "pause", "slow", "odd", stdout=StringIO())
    waiting = both.enqueue("test.ok", queue_name="slow")
    both.a_canary_passes()
    assert waiting.are(status="pending", attempts=0)

    call_command("jobs", "resume", "slow", stdout=StringIO())
    waiting.become("succeeded", within=10)
    assert worker.terminate() == 0


def output(*arguments: str) -> str:
    stdout = StringIO()
    call_command("jobs", *arguments, stdout=stdout)
    return stdout.getvalue()


@pytest.mark.usefixtures("db")
def test_the_command_says_where_it_did_what() -> None:
    assert output("pause", "slow", "--tenant", "acme") == "acme: pause: slow\n"
    assert output("pause", "slow") == "public: pause: slow\nacme: pause: nothing to do\nglobex: pause: slow\n"
    assert json.loads(output("resume", "slow", "odd", "--json", "--tenant", "globex")) == [
        {"tenant": "globex", "resume": ["slow"]}
    ]
    with pytest.raises(CommandError, match="queue_name"):
        output("pause", "")


@pytest.mark.usefixtures("db")
def test_stats_tell_what_waits_and_since_when(queue: Queue, jobs: Jobs, tenant: str) -> None:
    jobs.dead_letter()
    jobs.processing()
    oldest = jobs.pending()
    queue.pause("slow")

    (stats,) = json.loads(output("stats", "--json", "--tenant", tenant))

    assert stats.pop("oldest_due")[:19] == oldest.available_at.isoformat()[:19]
    assert stats == {"tenant": tenant, "pending": 1, "processing": 1, "dead_letter": 1, "paused_queues": ["slow"]}
    head, *lines = output("stats").splitlines()
    assert head.split() == ["tenant", "pending", "processing", "dead_letter", "oldest_due", "paused_queues"]
    assert [line.split()[0] for line in lines] == ["public", "acme", "globex"]
