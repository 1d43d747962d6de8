"""``manage.py jobs``: the queue's verbs for terminals and programs."""

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from dms_project.tenancy import PUBLIC, use
from jobqueue import schedules
from jobqueue.queue import JobSpec, Queue
from jobqueue.schedules import cron, schedule
from jobqueue.worker.scheduled_jobs import database_time, enqueue_due
from tests.jobqueue.jobs import Jobs, row


def run(*arguments: Any, **options: Any) -> str:
    out = io.StringIO()
    call_command("jobs", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def here(tenant: str) -> tuple[str, str]:
    """The arguments that name the tenant."""
    return ("--tenant", tenant)


def test_the_list_shows_the_newest_first_and_can_be_narrowed(jobs: Jobs, here: tuple[str, str]) -> None:
    jobs.pending("test.first")
    jobs.dead_letter(job_type="test.second")

    lines = run("list", *here).splitlines()
    dead = run("list", "--status", "dead_letter", *here)
    listed = json.loads(run("list", "--type", "test.first", "--json", *here))

    assert lines[0].split()[:4] == ["tenant", "id", "job_type", "queue_name"]
    assert ["test.second" in lines[1], "test.first" in lines[2]] == [True, True]
    assert "no use" in dead
    assert "test.first" not in dead
    assert [job["job_type"] for job in listed] == ["test.first"]


def test_an_empty_list_says_so(here: tuple[str, str]) -> None:
    assert run("list", *here) == "no jobs\n"
    assert run("list", "--json", *here) == "[]\n"


@pytest.mark.usefixtures("db")
def test_without_a_tenant_the_list_shows_every_tenants_jobs() -> None:
    for name in (PUBLIC, "acme", "globex"):
        with use(name):
            Queue().enqueue("test.any", {})

    assert [job["tenant"] for job in json.loads(run("list", "--json"))] == [PUBLIC, "acme", "globex"]


def test_show_tells_everything_about_one_job(jobs: Jobs, here: tuple[str, str]) -> None:
    dead = jobs.dead_letter(payload={"page": 3})

    text = run("show", dead.pk, *here)
    facts = json.loads(run("show", dead.pk, "--json", *here))

    assert 'payload: {"page": 3}' in text
    assert "Attempt 1 started on w1" in text
    assert "no use" in text
    assert text.splitlines()[-1] == "why: It is a dead letter and waits for a person: requeue or discard it."
    assert [event["code"] for event in facts["timeline"]] == ["enqueued", "started", "failed"]
    assert [reason["code"] for reason in facts["why"]] == ["dead_letter"]
    assert (facts["id"], facts["status"], facts["history"][0]["outcome"]) == (dead.pk, "dead_letter", "failed")


@pytest.mark.parametrize(
    ("verb", "made", "status"),
    [
        ("requeue", "dead_letter", "pending"),
        ("discard", "dead_letter", "failed"),
        ("cancel", "pending", "failed"),
        ("cancel", "processing", "failed"),
    ],
)
def test_a_verb_is_carried_out_and_said(jobs: Jobs, here: tuple[str, str], verb: str, made: str, status: str) -> None:
    job = getattr(jobs, made)()

    assert run(verb, job.pk, *here) == f"{verb}: {job.pk}\n"
    assert row(job).status == status


@pytest.mark.parametrize(
    ("verb", "made", "reason"),
    [
        ("requeue", "succeeded", "is succeeded, not dead_letter; nothing was changed."),
        ("discard", "pending", "is pending, not dead_letter; nothing was changed."),
        ("cancel", "dead_letter", "is dead_letter, neither pending nor processing; nothing was changed."),
    ],
)
def test_a_refusal_names_the_job_and_its_status(
    jobs: Jobs, here: tuple[str, str], verb: str, made: str, reason: str
) -> None:
    job = getattr(jobs, made)()

    with pytest.raises(CommandError, match=f"Job {job.pk} {reason}"):
        run(verb, job.pk, *here)


def test_one_refusal_does_not_hinder_the_others(jobs: Jobs, here: tuple[str, str]) -> None:
    good, bad = jobs.dead_letter(), jobs.succeeded()
    out = io.StringIO()

    with pytest.raises(CommandError, match="There is no job 987654321"):
        call_command("jobs", "requeue", str(bad.pk), "987654321", str(good.pk), "--json", *here, stdout=out)

    answer = json.loads(out.getvalue())
    assert answer["done"] == [good.pk]
    assert set(answer["refused"]) == {str(bad.pk), "987654321"}


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "1"), "Ids are the tenant's own: say which one with --tenant."),
        (("requeue", "1"), "Ids are the tenant's own: say which one with --tenant."),
        (("list", "--tenant", "nobody"), "There is no tenant nobody; there are public, acme, globex."),
        (("show", "99", "--tenant", "acme"), "There is no job 99. See 'manage.py jobs list'."),
        (("requeue", str(10**30), "--tenant", "acme"), f"There is no job {10**30}."),
    ],
)
def test_a_mistake_is_said_in_one_line_with_the_next_step(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert str(refused.value) == message


COLUMNS = ["name", "timetable", "zone", "job_type", "next_at", "last_at", "last_job", "paused", "problem"]


def test_schedules_are_listed_paused_and_resumed(
    queue: Queue, here: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedules, "_schedules", {})
    assert run("schedules", *here) == "no schedules\n"
    schedule("weekly", cron("0 6 * * 1", "Europe/Berlin"), JobSpec("test.ok", {}))
    assert "no worker has looked at it yet" in run("schedules", *here)
    enqueue_due(queue, schedules.declared(), database_time("default"))

    heads, line = run("schedules", *here).splitlines()
    assert heads.split()[1:] == COLUMNS
    assert re.fullmatch(
        r"\w+ +weekly +0 6 \* \* 1 +Europe/Berlin +test.ok +\d{4}-\d\d-\d\d 0\d:00:00 +- +- +no +-", line
    )
    (facts,) = json.loads(run("schedules", "--json", *here))
    assert (facts["paused"], facts["last_job"], facts["problem"]) == (False, None, "")

    assert run("pause", "--schedule", "weekly", *here) == f"{here[1]}: pause: weekly\n"
    assert run("pause", "--schedule", "weekly", *here) == f"{here[1]}: pause: nothing to do\n"
    assert run("schedules", *here).splitlines()[1].split()[-4:] == ["-", "-", "yes", "paused"]
    assert run("resume", "--schedule", "weekly", *here) == f"{here[1]}: resume: weekly\n"
    with pytest.raises(CommandError, match=r"No schedule wekly has begun here; .* 'manage.py jobs schedules'"):
        run("pause", "--schedule", "wekly", "--schedule", "weekly", *here)
    for wrong in ((), ("mail", "--schedule", "weekly")):
        with pytest.raises(CommandError, match="Say what to pause: queues, or schedules with --schedule"):
            run("pause", *wrong, *here)


def test_a_blocked_job_is_listed_and_shown_with_the_time_since_when_it_is_due(
    here: tuple[str, str], jobs: Jobs
) -> None:
    jobs.processing(concurrency_key="k")
    blocked = jobs.pending(concurrency_key="k")
    assert jobs.queue.dequeue_many("w2", 10) == []
    assert row(blocked).blocked_due_at is not None

    assert "9000" not in run("list", *here) + run("list", *here, "--json")
    assert f"available_at: {blocked.available_at:%Y-%m-%d %H:%M}" in run("show", blocked.pk, *here)
