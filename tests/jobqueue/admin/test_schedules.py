"""Schedules in the admin: watched, paused, and made by those who may."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.checks import run_checks

from jobqueue import schedules
from jobqueue.models import JobSchedule, ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.schedules import every, schedule
from jobqueue.worker.scheduled_jobs import database_time, enqueue_due
from tests.jobqueue.admin.conftest import Login
from tests.jobqueue.admin.test_admin import page

LIST = "/admin/jobqueue/jobschedule/"
VIEW, ADD, CHANGE, DELETE = (f"{verb}_jobschedule" for verb in ("view", "add", "change", "delete"))
KNOWN = "documents.process"  # a type with a handler
HOUR = timedelta(hours=1)
FILLED_IN = {
    "name": "weekly", "timetable": " 0 6 * *  1 Europe/Berlin", "job_type": KNOWN, "payload": '{"page": 1}',
    "queue_name": "default", "priority": "0", "overlap": "on",
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "_schedules", {})
    schedule("hourly", every(HOUR), JobSpec("test.print", {"page": 1}))


def enqueue(queue: Queue) -> int:
    """Note what code declares, and let its next time come."""
    now = database_time("default")
    enqueue_due(queue, schedules.declared(), now)
    (pk,) = enqueue_due(queue, schedules.declared(), now + HOUR)
    return pk


def act(client: Any, action: str, name: str) -> str:
    return str(client.post(LIST, {"action": action, "_selected_action": [name]}, follow=True).content.decode())


def test_the_list_says_what_comes_next_what_was_last_and_why_nothing_comes(login: Login, queue: Queue) -> None:
    pk = enqueue(queue)
    JobSchedule.objects.create(name="of old code", timetable="every 1 d")
    client = login(VIEW)
    for said in ("every 1 h", "test.print", f"/admin/jobqueue/processingjob/{pk}/change/", "not in this program"):
        assert said in page(client, LIST)
    JobSchedule.objects.filter(name="hourly").update(next_at=database_time("default") - HOUR)
    assert "is late: does a worker run?" in page(client, LIST)


def test_one_in_code_is_paused_and_resumed_and_neither_changed_nor_deleted(login: Login, queue: Queue) -> None:
    enqueue(queue)
    client = login(VIEW, CHANGE, DELETE)
    assert "1 schedule paused." in act(client, "pause", "hourly")
    assert "0 schedules paused." in act(client, "pause", "hourly"), "it is already"
    assert JobSchedule.objects.get().next_at is None
    assert "1 schedule resumed." in act(client, "resume", "hourly")
    now = database_time("default")
    assert now < (JobSchedule.objects.get().next_at or now) <= now + HOUR
    assert sorted(LogEntry.objects.values_list("change_message", flat=True)) == [
        "Paused in the admin.",
        "Resumed in the admin.",
    ]
    assert 'name="timetable"' not in page(client, f"{LIST}hourly/change/")
    assert client.post(f"{LIST}hourly/change/", FILLED_IN).status_code == 403
    assert client.post(f"{LIST}hourly/delete/", {"post": "yes"}).status_code == 403


def test_one_is_made_changed_and_deleted(login: Login, queue: Queue) -> None:
    client = login(VIEW, ADD, CHANGE, DELETE)
    assert client.post(f"{LIST}add/", FILLED_IN).status_code == 302
    made = JobSchedule.objects.get()
    assert (made.timetable, made.payload, made.last_at) == ("0 6 * * 1 Europe/Berlin", {"page": 1}, None)
    assert made.next_at is not None
    assert client.post(f"{LIST}weekly/change/", FILLED_IN | {"timetable": "every 1 h"}).status_code == 302
    enqueue_due(queue, {}, made.next_at)
    assert ProcessingJob.objects.get().job_type == KNOWN
    assert client.post(f"{LIST}weekly/delete/", {"post": "yes"}).status_code == 302
    assert not JobSchedule.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "hourly", "declared in code"),
        ("timetable", "61 * * * *", "Bad minute"),
        ("timetable", "every week", "a number and a unit"),
        ("job_type", "test.unknown", "Select a valid choice"),
        ("payload", "[1]", "payload must be a dict"),
        ("priority", "101", "must be from -100 to 100"),
    ],
)
def test_what_could_not_be_enqueued_is_refused_with_what_to_write(
    login: Login, field: str, value: str, said: str
) -> None:
    response = login(VIEW, ADD).post(f"{LIST}add/", FILLED_IN | {field: value})
    assert said in response.content.decode()
    assert not JobSchedule.objects.exists()


def test_who_may_only_look_changes_nothing(login: Login, queue: Queue) -> None:
    enqueue(queue)
    client = login(VIEW)
    act(client, "pause", "hourly")
    assert not JobSchedule.objects.filter(paused=True).exists()
    assert client.get(f"{LIST}add/").status_code == 403


def test_a_name_that_can_not_be_stored_is_no_schedules(login: Login) -> None:
    client = login(VIEW, CHANGE, DELETE)
    assert client.get(f"{LIST}%00/change/").status_code == 302
    assert client.get(f"{LIST}%00/delete/").status_code == 302
    assert client.post(LIST, {"action": "pause", "_selected_action": ["\0"]}).status_code == 400


def test_times_that_were_written_by_hand_and_are_none_are_noted_and_harm_nobody(login: Login, queue: Queue) -> None:
    now = database_time("default")
    JobSchedule.objects.create(name="a", timetable="often", job_type="test.print", next_at=now, done_until=now - HOUR)
    assert enqueue(queue)
    row = JobSchedule.objects.get(name="a")
    assert row.next_at is None
    assert "could not be enqueued: cron(" in page(login(VIEW), LIST)


def test_a_schedule_whose_jobs_nothing_can_run_is_warned_of() -> None:
    schedule("typo", every(HOUR), JobSpec("test.prnt", {}))
    warnings = [message.msg for message in run_checks(tags=["jobqueue"]) if message.id == "jobqueue.W001"]
    assert "The schedule 'typo' enqueues jobs of type 'test.prnt', which has no handler here." in warnings
