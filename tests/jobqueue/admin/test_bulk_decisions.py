"""Decisions about many dead letters at once, while others decide too and something breaks. Cases O15 and Q49."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.contrib.admin.models import LogEntry
from django.db import OperationalError, connection
from django.test import Client

from dms_project.tenancy import use
from jobqueue.admin import decisions
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.states import JobStatus
from tests.conftest import TENANTS
from tests.jobqueue.admin.conftest import Login
from tests.jobqueue.admin.test_admin import CAUSES, DISCARD, LIST, REQUEUE, VIEW

DEAD = f"{LIST}?status__exact=dead_letter"


@pytest.fixture
def dead(queue: Queue) -> Callable[[int], list[int]]:
    """Makes so many dead letters and returns their ids."""

    def make(count: int) -> list[int]:
        queue.enqueue_many([JobSpec("test.print", {"page": n}, max_attempts=1) for n in range(count)])
        return [job.pk for job in queue.dequeue_many("w1", count) if queue.fail(job, "on fire") == "dead_letter"]

    return make


def act(client: Client, ids: list[int], action: str = "requeue", url: str = LIST, **more: str) -> str:
    data = {"action": action, "_selected_action": list(map(str, ids)), "confirmed": "yes", **more}
    return client.post(url, data, follow=True).content.decode()


def test_an_interrupted_decision_is_repeated_and_does_the_rest(
    committed_db: None, login: Login, dead: Callable[[int], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes in batches, each a transaction of its own with its audit entries."""
    ids = dead(230)
    client = login(VIEW, REQUEUE)
    client.raise_request_exception = False
    monkeypatch.setattr(decisions, "_BATCH", 50)
    requeue, batches = Queue.requeue_dead_letters, []

    def breaks_at_the_third(queue: Queue, batch: list[int], **options: Any) -> Any:
        batches.append(len(batch))
        if len(batches) == 3:
            raise OperationalError("the connection is gone")
        return requeue(queue, batch, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Queue, "requeue_dead_letters", breaks_at_the_third)
        act(client, ids[:1], url=DEAD, select_across="1")
    half_way = ProcessingJob.objects.filter(status=JobStatus.PENDING).count(), LogEntry.objects.count()
    said = act(client, ids[-1:], url=DEAD, select_across="1")

    assert (batches, half_way) == ([50, 50, 50], (100, 100))
    assert "130 jobs requeued." in said
    assert sorted(LogEntry.objects.values_list("object_id", flat=True)) == sorted(map(str, ids))
    assert set(ProcessingJob.objects.values_list("status", "attempts")) == {(JobStatus.PENDING, 0)}


def test_what_changed_since_the_page_was_shown_is_counted_and_left_alone(
    login: Login, queue: Queue, dead: Callable[[int], list[int]]
) -> None:
    ids = dead(50)
    for job_id in ids[:10]:
        queue.requeue_dead_letter(job_id)
    running = queue.dequeue_many("w2", 10)

    said = act(login(VIEW, REQUEUE), ids)

    assert "40 jobs requeued." in said
    assert "10 jobs refused" in said
    assert queue.renew(running) == running
    histories = ProcessingJob.objects.filter(pk__in=ids).values_list("history", flat=True)
    assert [[entry["outcome"] for entry in history] for history in histories] == [["failed"]] * 50


def test_many_become_due_one_after_the_other(login: Login, dead: Callable[[int], list[int]]) -> None:
    """So that what killed them isn't hit by all of them at once."""
    ids = dead(100)

    act(login(VIEW, REQUEUE), ids)

    due = sorted(ProcessingJob.objects.values_list("available_at", flat=True))
    assert len(set(due)) > 50
    assert (due[-1] - due[0]).total_seconds() <= 1  # 10 ms for each


def test_two_people_who_decide_at_once_share_the_work(
    committed_db: None, login: Login, dead: Callable[[int], list[int]], tenant: str
) -> None:
    ids = dead(80)
    client = login(VIEW, REQUEUE)

    def post(_: int) -> str:
        another = Client(headers={"host": TENANTS[tenant]})
        another.cookies = client.cookies
        try:
            return act(another, ids)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as people:
        said = list(people.map(post, range(2)))

    done = [int(number) for text in said for number in re.findall(r"(\d+) jobs? requeued", text)]
    assert sum(done) == 80
    assert LogEntry.objects.count() == 80
    assert ProcessingJob.objects.filter(status=JobStatus.PENDING, attempts=0).count() == 80


@pytest.mark.parametrize("where", ["the list", "the page of causes"])
def test_a_locked_row_is_not_waited_for(
    where: str, committed_db: None, login: Login, dead: Callable[[int], list[int]], database_url: str, tenant: str
) -> None:
    ids = dead(3)
    client = login(VIEW, DISCARD)
    with psycopg.connect(database_url) as somebody:
        somebody.execute(f"SELECT FROM {tenant}.processing_jobs WHERE id = %s FOR UPDATE", [ids[0]])
        if where == "the list":
            said = act(client, ids, "discard")
        else:
            choice = {"verb": "discard", "job_type": "test.print", "cause": "on fire", "newest_id": ids[-1]}
            said = client.post(CAUSES, choice, follow=True).content.decode()

    assert "2 jobs discarded." in said
    assert f"job {ids[0]} is locked." in said
    with use(tenant):
        assert Queue().status(ids[0]) == JobStatus.DEAD_LETTER
