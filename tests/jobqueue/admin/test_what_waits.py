"""What the list says at a glance: what is of interest about each job, and what waits for nobody here. Case Q34."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client
from lxml import html  # type: ignore[import-untyped]

from jobqueue.admin import reach
from jobqueue.models import ProcessingJob
from jobqueue.queue import JobSpec, Queue
from jobqueue.rows import counts
from jobqueue.rows.counts import count_all, count_jobs
from tests.jobqueue.admin.conftest import Login
from tests.jobqueue.admin.test_admin import LIST, VIEW, page
from tests.jobqueue.jobs import Jobs, row

NOBODYS = "test.of_another_version"


def notes(client: Client) -> dict[int, str]:
    """Return the list's notes by job."""
    rows = html.fromstring(page(client)).xpath("//table[@id='result_list']/tbody/tr")
    found = {row.xpath("string(*[@class='field-id'])"): row.xpath("string(*[@class='field-note'])") for row in rows}
    return {int(job_id): note.replace("\xa0", " ") for job_id, note in found.items()}


def hints(client: Client, url: str = LIST) -> str:
    """Return what stands above the list, or a job, in one line."""
    found = html.fromstring(page(client, url)).xpath("//*[starts-with(@class, 'jobqueue-')]")
    return " ".join(" ".join(each.text_content().split()) for each in found)


def test_each_job_says_what_is_of_interest_in_its_status(login: Login, jobs: Jobs) -> None:
    made = {status: getattr(jobs, status)() for status in ("succeeded", "dead_letter", "discarded", "processing")}
    made |= {"due": jobs.pending(), "later": jobs.pending()}

    def change(name: str, **columns: object) -> None:
        ProcessingJob.objects.filter(pk=made[name].pk).update(**columns)

    change("due", available_at=Now() - timedelta(hours=3, minutes=1))
    change("later", available_at=Now() + timedelta(hours=3, minutes=1), last_error="out of paper\nand so on")
    change("processing", started_at=Now() - timedelta(minutes=5, seconds=9), progress=42, locked_by="w7")

    found = notes(login(VIEW))

    assert {name: found[job.pk] for name, job in made.items()} == {
        "succeeded": "took 0.0 s",
        "dead_letter": "no use",
        "discarded": "no use",
        "processing": "for 5 minutes on w7, 42 %",
        "due": "due for 3 hours, 1 minute",
        "later": "due in 3 hours; last: out of paper",
    }


def test_a_type_that_nothing_here_can_do_is_named_with_its_number(login: Login, queue: Queue) -> None:
    queue.enqueue_many([JobSpec(NOBODYS, {})] * 3 + [JobSpec("test.ok", {}), JobSpec("zzz", {})])
    client = login(VIEW)

    said = hints(client)

    assert f"Nothing here has a handler for {NOBODYS} (3 pending), zzz (1 pending): they wait" in said
    assert "test.ok" not in said
    found = client.get(LIST, {"job_type": NOBODYS, "status__exact": "pending"}).context["cl"].result_list
    assert {job.job_type for job in found} == {NOBODYS}


@pytest.mark.parametrize(("job_type", "is_said"), [(NOBODYS, True), ("test.ok", False)])
def test_a_jobs_page_says_so_while_it_waits(login: Login, jobs: Jobs, job_type: str, is_said: bool) -> None:
    waiting, running = jobs.pending(job_type), jobs.processing(job_type=job_type)
    client = login(VIEW)

    for job, expected in ((waiting, is_said), (running, False)):
        said = hints(client, f"{LIST}{job.pk}/change/")
        assert (f"Nothing here has a handler for {job_type}" in said) == expected


def test_the_jobs_command_says_so_too(tenant: str, queue: Queue) -> None:
    job = queue.enqueue(NOBODYS, {})
    out, err = StringIO(), StringIO()
    call_command("jobs", "list", "--tenant", tenant, stdout=out, stderr=err)
    assert err.getvalue() == f"Nothing here has a handler for {NOBODYS}: these wait for a worker that has.\n"
    assert "handler for" not in out.getvalue()

    for verb in ("show", "why"):
        out = StringIO()
        call_command("jobs", verb, str(job.pk), "--tenant", tenant, stdout=out)
        assert f"Nothing here has a handler for {NOBODYS}: it waits for a worker that has one." in out.getvalue()


def test_a_paused_queue_is_named_above_the_list_and_on_its_jobs(login: Login, queue: Queue) -> None:
    job, other = queue.enqueue("test.ok", {}, queue_name="mail"), queue.enqueue("test.ok", {})
    queue.pause("mail")
    client = login(VIEW)

    assert "The queue mail is paused" in hints(client)
    assert "The queue mail has been paused since" in hints(client, f"{LIST}{job.pk}/change/")
    assert "paused" not in hints(client, f"{LIST}{other.pk}/change/")
    assert row(job).status == "pending"


def test_how_far_a_filter_looks_is_said(login: Login, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "NEWEST", 3)
    monkeypatch.setattr(reach, "PENDING", 3)
    queue.enqueue_many([JobSpec("test.ok", {})] * 5)
    client = login(VIEW)

    assert "Looked through" not in hints(client)
    assert "Looked through the newest 3 jobs." in hints(client, f"{LIST}?job_type=test.ok")
    assert "Looked through 3 of the pending jobs; choose a job type" in hints(client, f"{LIST}?status__exact=pending")
    for url in ("?job_type=test.ok", "?status__exact=pending"):
        assert client.get(LIST + url).context["cl"].result_count == 3


def test_a_small_table_is_counted_exactly_whatever_the_planner_thinks(
    login: Login, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue_many([JobSpec("test.ok", {})] * 7)

    assert "7 in all" in hints(login(VIEW))
    monkeypatch.setattr(counts, "_SMALL", 5)
    assert count_all("default", count_jobs()) == (6, False)
