"""The jobs in the admin: read by those who may, decided about by those who may, and never edited."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import display_for_value
from django.test import Client

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus
from tests.jobqueue.admin.conftest import Login
from tests.jobqueue.jobs import Jobs, row

LIST = "/admin/jobqueue/processingjob/"
CAUSES = LIST + "causes/"
VIEW, REQUEUE, DISCARD = "view_processingjob", "requeue_processingjob", "discard_processingjob"


def act(client: Client, action: str, *jobs: ProcessingJob, **more: str) -> str:
    """Choose an action for the selected jobs and return the page that follows."""
    data = {"action": action, "_selected_action": [str(job.pk) for job in jobs], **more}
    return client.post(LIST, data, follow=True).content.decode()


def page(client: Client, url: str = LIST) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def test_requeue_puts_a_dead_letter_back_and_says_so(login: Login, jobs: Jobs) -> None:
    dead = jobs.dead_letter()

    text = act(login(VIEW, REQUEUE), "requeue", dead)

    assert "1 job requeued." in text
    assert (row(dead).status, row(dead).attempts) == (JobStatus.PENDING, 0)


def test_discard_gives_a_dead_letter_up(login: Login, jobs: Jobs) -> None:
    dead = jobs.dead_letter()

    text = act(login(VIEW, DISCARD), "discard", dead)

    assert "1 job discarded." in text
    assert row(dead).status == JobStatus.FAILED


@pytest.mark.parametrize("action", ["requeue", "discard"])
@pytest.mark.parametrize("status", [status for status in JobStatus if status != JobStatus.DEAD_LETTER])
def test_any_other_status_is_refused_and_said_so(login: Login, jobs: Jobs, action: str, status: JobStatus) -> None:
    other = getattr(jobs, "discarded" if status == JobStatus.FAILED else status)()

    text = act(login(superuser=True), action, other)

    assert f"1 job refused, since only dead letters can be {action}" in text
    assert f"job {other.pk} is {status}." in text
    assert row(other).status == status
    assert not LogEntry.objects.exists()


def test_what_was_done_and_what_was_refused_is_counted(login: Login, jobs: Jobs) -> None:
    selected = [jobs.dead_letter(), jobs.succeeded(), jobs.dead_letter(), jobs.pending()]

    text = act(login(VIEW, REQUEUE), "requeue", *selected)

    assert "2 jobs requeued." in text
    assert "2 jobs refused" in text


def test_a_double_click_does_it_once(login: Login, jobs: Jobs, queue: Queue) -> None:
    """Case Q49: the second POST of the same selection finds nothing to do."""
    dead = jobs.dead_letter()
    client = login(VIEW, REQUEUE)
    act(client, "requeue", dead)
    running = queue.dequeue("w1")

    text = act(client, "requeue", dead)

    assert "refused" in text
    assert queue.still_held(running)


def test_each_decision_is_recorded_with_who_made_it(login: Login, jobs: Jobs) -> None:
    first, second = jobs.dead_letter(), jobs.dead_letter()
    client = login(VIEW, REQUEUE, DISCARD)

    act(client, "requeue", first)
    act(client, "discard", second)

    entries = LogEntry.objects.order_by("pk").values_list("user__username", "object_id", "change_message")
    assert list(entries) == [
        ("operator", str(first.pk), "Requeued in the admin."),
        ("operator", str(second.pk), "Discarded in the admin."),
    ]


def test_many_are_asked_about_first(login: Login, jobs: Jobs) -> None:
    """Case O15: an action on everything is carried out after a confirmation only."""
    dead = [jobs.dead_letter() for _ in range(101)]
    client = login(VIEW, REQUEUE)

    question = act(client, "requeue", *dead, select_across="1")

    assert "Requeue 101 jobs?" in question
    assert ProcessingJob.objects.filter(status=JobStatus.DEAD_LETTER).count() == 101
    assert "101 jobs requeued." in act(client, "requeue", *dead, select_across="1", confirmed="yes")
    assert not ProcessingJob.objects.filter(status=JobStatus.DEAD_LETTER).exists()


@pytest.mark.parametrize("action", ["requeue", "discard"])
def test_the_right_to_see_is_no_right_to_decide(login: Login, jobs: Jobs, action: str) -> None:
    dead = jobs.dead_letter()
    client = login(VIEW)

    act(client, action, dead)
    answer = client.post(CAUSES, {"verb": action, "job_type": dead.job_type, "newest_id": dead.pk})

    assert answer.status_code == 403
    assert row(dead).status == JobStatus.DEAD_LETTER
    assert f'value="{action}"' not in page(client)


def test_without_any_right_there_is_nothing_to_see(login: Login, jobs: Jobs) -> None:
    dead = jobs.dead_letter()
    client = login()

    for url in (LIST, CAUSES, f"{LIST}{dead.pk}/change/"):
        assert client.get(url).status_code == 403


@pytest.mark.parametrize("path", ["add/", "{}/delete/"])
def test_nobody_adds_or_deletes_jobs(login: Login, jobs: Jobs, path: str) -> None:
    dead = jobs.dead_letter()

    assert login(superuser=True).get(LIST + path.format(dead.pk)).status_code == 403


def test_a_forged_edit_changes_nothing(login: Login, jobs: Jobs) -> None:
    """Case O16: neither the job type nor the payload can be edited, however the form is forged."""
    job = jobs.pending()

    answer = login(superuser=True).post(f"{LIST}{job.pk}/change/", {"job_type": "os.system", "payload": "{}"})

    assert answer.status_code == 403
    assert (row(job).job_type, row(job).payload) == (job.job_type, job.payload)


def test_the_detail_page_shows_payload_error_and_every_attempt(login: Login, jobs: Jobs, queue: Queue) -> None:
    queue.enqueue("test.any", {"marker": "<script>alert(1)</script>"}, max_attempts=2)
    for text in ("first <b>failure</b>", "second failure"):
        ProcessingJob.objects.update(available_at="2001-01-01T00:00:00Z")
        job = queue.dequeue("w1")
        queue.fail(job, text)

    shown = page(login(VIEW), f"{LIST}{job.pk}/change/")

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "first &lt;b&gt;failure&lt;/b&gt;" in shown
    assert "second failure" in shown
    assert "2 of 2" in shown


def test_all_times_of_a_job_are_written_alike(login: Login, jobs: Jobs) -> None:
    job = jobs.pending()

    shown = page(login(VIEW), f"{LIST}{job.pk}/change/")

    assert shown.count(display_for_value(row(job).created_at, "")) >= 2  # created, and due since then
    assert "+00:00<" not in shown


def test_the_list_is_searched_by_id_by_key_and_by_the_error_of_dead_letters(login: Login, queue: Queue) -> None:
    first = queue.enqueue("test.first", {}, idempotency_key="order-77")
    second = queue.enqueue("test.second", {})
    queue.fail(queue.dequeue("w1", job_types=["test.second"]), "the printer is on fire", retry=False)
    client = login(VIEW)

    def found(term: str) -> set[str]:
        rows = client.get(LIST, {"q": term}).context["cl"].result_list
        return {job.job_type for job in rows}

    assert found(str(first.pk)) == {"test.first"}
    assert found("order-77") == {"test.first"}
    assert found("printer") == {"test.second"}
    assert found("nothing like it") == set()
    assert found("9" * 30) == set()
    assert second.pk != first.pk


def test_filters_offer_the_types_and_queues_there_are(login: Login, queue: Queue) -> None:
    queue.enqueue("test.first", {}, queue_name="mail")
    queue.enqueue("test.second", {})
    client = login(VIEW)

    assert {"test.first", "test.second", "mail"} <= set(page(client).replace("<", ">").replace('"', ">").split(">"))
    rows = client.get(LIST, {"queue_name": "mail"}).context["cl"].result_list
    assert [job.job_type for job in rows] == ["test.first"]


def test_dead_letters_are_grouped_by_cause_and_decided_about_together(login: Login, queue: Queue) -> None:
    for number, cause in enumerate(["out of paper", "out of paper", "on fire"]):
        queue.enqueue("test.print", {"page": number})
        queue.fail(queue.dequeue("w1"), f"{cause}\nwith a traceback of its own: {number}", retry=False)
    client = login(VIEW, REQUEUE, DISCARD)

    groups = [(group.cause, group.jobs) for group in client.get(CAUSES).context["causes"]]
    newest = ProcessingJob.objects.latest("pk").pk
    choice = {"verb": "requeue", "job_type": "test.print", "cause": "out of paper", "newest_id": newest}
    answer = client.post(CAUSES, choice, follow=True).content.decode()

    assert groups == [("out of paper", 2), ("on fire", 1)]
    assert "2 jobs requeued." in answer
    left = ProcessingJob.objects.filter(status=JobStatus.DEAD_LETTER)
    assert [job.last_error.split("\n")[0] for job in left] == ["on fire"]


def test_a_cause_that_begins_like_another_is_another(login: Login, queue: Queue) -> None:
    for text in ("ValueError: ", "ValueError: out of paper", "\nno first line", "ValueError: on fire"):
        queue.enqueue("test.print", {})
        queue.fail(queue.dequeue("w1"), text, retry=False)
    newest = ProcessingJob.objects.latest("pk").pk
    client = login(VIEW, DISCARD)

    for cause in ("ValueError: ", ""):
        choice = {"verb": "discard", "job_type": "test.print", "cause": cause, "newest_id": newest}
        assert "1 job discarded." in client.post(CAUSES, choice, follow=True).content.decode()
    assert ProcessingJob.objects.filter(status=JobStatus.DEAD_LETTER).count() == 2


def test_a_job_that_killed_different_workers_is_one_cause_and_each_worker_is_found(login: Login, queue: Queue) -> None:
    for worker in ("docs1:17", "docs2:4711"):
        queue.enqueue("test.print", {})
        queue.fail(queue.dequeue("w1"), f"worker died ({worker})", retry=False)
    client = login(VIEW, REQUEUE)

    groups = [(group.cause, group.jobs) for group in client.get(CAUSES).context["causes"]]
    found = client.get(LIST, {"q": "docs2:4711"}).context["cl"].result_list
    of_cause = client.get(LIST, {"job_type": "test.print", "cause": "worker died"}).context["cl"].result_list

    assert groups == [("worker died", 2)]
    assert len(found) == 1
    assert len(of_cause) == 2


def test_what_is_no_id_is_refused_and_a_nul_in_the_address_too(login: Login, jobs: Jobs) -> None:
    client = login(VIEW, REQUEUE)

    forged = client.post(LIST, {"action": "requeue", "_selected_action": ["1' or 1=1"]})

    assert forged.status_code == 400
    assert client.get(LIST + "?job_type=%00").status_code == 400


@pytest.mark.parametrize("forged", [{"newest_id": "x"}, {"newest_id": "9" * 40}, {"cause": "\0"}, {"verb": "explode"}])
def test_a_forged_choice_of_a_cause_is_refused_without_harm(login: Login, jobs: Jobs, forged: dict[str, str]) -> None:
    dead = jobs.dead_letter()
    choice = {"verb": "requeue", "job_type": dead.job_type, "cause": "other", "newest_id": str(dead.pk)} | forged

    answer = login(VIEW, REQUEUE).post(CAUSES, choice)

    assert answer.status_code in (302, 400, 403)
    assert row(dead).status == JobStatus.DEAD_LETTER


def test_pages_need_the_same_few_statements_however_many_jobs_there_are(
    login: Login, queue: Queue, django_assert_max_num_queries: object
) -> None:
    for number in range(60):
        queue.enqueue("test.any", {"number": number})
    client = login(VIEW)

    with django_assert_max_num_queries(16):  # type: ignore[operator]
        page(client)
