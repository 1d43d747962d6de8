"""The control room: what it shows, who may pause queues and schedules there, and what is recorded of that."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobqueue import schedules
from jobqueue.models import JobSchedule
from jobqueue.queue import JobSpec, Queue
from jobqueue.schedules import cron, every, schedule
from jobqueue.worker.scheduled_jobs import database_time, enqueue_due
from tests.jobqueue.admin.conftest import Login
from tests.jobqueue.jobs import Jobs

ROOM = "/admin/jobqueue/processingjob/control/"
HOUR = timedelta(hours=1)
VIEW, PAUSE, RESUME = "view_processingjob", "add_pausedqueue", "delete_pausedqueue"


def test_it_shows_what_waits_what_runs_and_who_runs_it(login: Login, jobs: Jobs, queue: Queue) -> None:
    jobs.succeeded()
    jobs.dead_letter()
    running = jobs.processing("web1:17", queue_name="mail")
    queue.enqueue_many([JobSpec("test.ok", {}, queue_name="reports")] * 3)
    queue.pause("reports")
    client = login(VIEW)

    context = client.get(ROOM).context
    states = {state.name: state for state in context["queues"]}
    assert (states["reports"].pending, states["reports"].running) == (3, 0)
    assert states["reports"].paused_since
    assert states["reports"].oldest_due
    assert (states["mail"].pending, states["mail"].running, states["mail"].paused_since) == (0, 1, None)
    (worker,) = context["workers"].busy
    assert (worker.name, [job.id for job in worker.jobs]) == ("web1:17", [running.pk])
    assert (context["pending"], context["processing"], context["dead_letters"]) == ("3", "1", "1")
    totals = [sum(int(row[column]) for row in context["slots"]) for column in (1, 2)]
    assert totals == [6, 1]


@pytest.mark.parametrize("window", ["hour", "day", "week", "forever"])
def test_each_window_and_the_part_that_is_kept_up_to_date_can_be_had(login: Login, jobs: Jobs, window: str) -> None:
    jobs.succeeded()
    client = login(VIEW)

    whole = client.get(ROOM, {"window": window}).content.decode()
    part = client.get(ROOM, {"window": window, "part": "live"}).content.decode()
    assert whole.count("<svg") >= part.count("<svg") == 4
    assert ("<html" in whole, "<html" in part) == (True, False)
    assert "style=" not in part  # which the policy forbids


def test_who_may_pauses_and_resumes_a_queue_and_that_is_recorded(login: Login, queue: Queue) -> None:
    client = login(VIEW, PAUSE, RESUME)

    for verb, paused, said in (("pause", ["mail"], "Paused"), ("resume", [], "Resumed")):
        answer = client.post(ROOM, {"verb": verb, "queue_name": "mail"}, follow=True)
        assert answer.status_code == 200
        assert queue.paused_queues() == paused
        entry = LogEntry.objects.order_by("-pk")[0]
        assert (entry.object_id, entry.get_change_message()) == ("mail", f"{said} in the admin.")
    client.post(ROOM, {"verb": "resume", "queue_name": "mail"})
    assert LogEntry.objects.count() == 2  # nothing was changed, so nothing is recorded


@pytest.mark.parametrize(("permission", "verb"), [(None, "pause"), (PAUSE, "resume"), (RESUME, "pause")])
def test_without_the_right_no_button_is_shown_and_none_works(
    login: Login, queue: Queue, permission: str | None, verb: str
) -> None:
    queue.enqueue("test.ok", {}, queue_name="mail")
    if verb == "resume":
        queue.pause("mail")
    before = queue.paused_queues()
    client = login(VIEW, *filter(None, [permission]))

    assert f'value="{verb}"' not in client.get(ROOM).content.decode()
    assert client.post(ROOM, {"verb": verb, "queue_name": "mail"}).status_code == 403
    assert queue.paused_queues() == before


def test_a_forged_choice_is_refused(login: Login, queue: Queue) -> None:
    client = login(superuser=True)
    for verb, name in (("drop", "mail"), ("pause", ""), ("pause", "a" * 101), ("pause", "nul\0")):
        assert client.post(ROOM, {"verb": verb, "queue_name": name}).status_code == 400
    assert queue.paused_queues() == []


def test_it_asks_as_many_questions_of_many_jobs_as_of_few(login: Login, queue: Queue) -> None:
    client = login(VIEW)
    asked = []
    for _ in range(2):
        queue.enqueue_many([JobSpec("test.ok", {})] * 500)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(ROOM, {"part": "live"})
        asked.append(len(queries))
    assert asked[1] - asked[0] <= 2  # the bisection takes a look more for twice as many
    assert asked[1] < 50


def test_it_is_in_german_too(login: Login, queue: Queue) -> None:
    queue.enqueue("test.ok", {}, queue_name="mail")
    client = login(superuser=True)
    text = client.get(ROOM, headers={"accept-language": "de"}).content.decode()
    for word in ("Leitstand", "Warteschlangen", "Anhalten", "Letzte Stunde"):
        assert word in text


@pytest.fixture
def hourly(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> int:
    """The id of the job that the schedule of this name has enqueued; another in code has not begun."""
    monkeypatch.setattr(schedules, "_schedules", {})
    declared = {"hourly": schedule("hourly", every(HOUR), JobSpec("test.ok", {}))}
    now = database_time("default")
    enqueue_due(queue, declared, now)
    (pk,) = enqueue_due(queue, declared, now + HOUR)
    schedule("daily", cron("0 6 * * *", "Europe/Berlin"), JobSpec("test.ok", {}))
    return pk


def test_schedules_are_shown_with_next_and_last_run_to_those_who_may_see_them(login: Login, hourly: int) -> None:
    JobSchedule.objects.create(name="of old/code", timetable="every 1 d")
    client = login(VIEW, "view_jobschedule")

    states = {state.name: state for state in client.get(ROOM).context["schedules"]}
    assert list(states) == ["daily", "hourly", "of old/code"]
    assert (states["daily"].timetable, states["daily"].zone, states["daily"].next_at) == (
        "0 6 * * *",
        "Europe/Berlin",
        None,
    )
    text = client.get(ROOM, {"part": "live"}).content.decode()
    for said in ("no worker has looked at it yet", f"job/{hourly}/change/", "of%20old_2Fcode", "not in this"):
        assert said in text
    assert 'data-key="pause schedule' not in text


@pytest.mark.usefixtures("hourly")
def test_who_may_not_see_schedules_sees_and_switches_none(login: Login) -> None:
    client = login(VIEW, PAUSE, RESUME)
    assert "hourly" not in client.get(ROOM, {"part": "live"}).content.decode()
    assert client.post(ROOM, {"verb": "pause", "schedule": "hourly"}).status_code == 403


def test_who_may_pauses_and_resumes_a_schedule_and_that_is_recorded(login: Login, hourly: int) -> None:
    client = login(VIEW, "change_jobschedule")
    for verb, paused, said in (("pause", True, "Paused"), ("resume", False, "Resumed")):
        assert f'data-key="{verb} schedule hourly"' in client.get(ROOM).content.decode()
        client.post(ROOM, {"verb": verb, "schedule": "hourly"}, follow=True)
        row = JobSchedule.objects.get()
        assert (row.paused, row.next_at is None) == (paused, paused)
        entry = LogEntry.objects.order_by("-pk")[0]
        assert (entry.object_id, entry.get_change_message()) == ("hourly", f"{said} in the admin.")
    again = client.post(ROOM, {"verb": "resume", "schedule": "hourly"}, follow=True).content.decode()
    assert "The schedule hourly was not paused, or is gone." in again
    assert LogEntry.objects.count() == 2

    assert client.post(ROOM, {"verb": "pause", "schedule": "hourly", "queue_name": "mail"}).status_code == 400
