"""The operators' list of the jobs of all tenants, and each job's page."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from dms_project.operators import fleet_joblist, fleet_jobs
from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus
from tests.conftest import TENANTS
from tests.operators.test_dead_letters import VERBS, an_operator, die_of, states

PAGE = "/admin/tenancy/tenant/jobs/"


@pytest.fixture
def operator(db: None) -> Client:
    return an_operator("view_processingjob", "requeue_processingjob", "discard_processingjob")


@pytest.fixture
def jobs(db: None) -> dict[str, list[int]]:
    """Of acme one that died, then one that waits; of globex one that died of something else. Ids by tenant."""
    ids = {"acme": die_of("acme", "S3 is away")}
    with use("acme"):
        ids["acme"].append(Queue().enqueue("mail.send", {}, queue_name="mail", idempotency_key="greeting").pk)
    return ids | {"globex": die_of("globex", "on fire")}


def found(client: Client, **asked: Any) -> list[tuple[str, int]]:
    """Return the rows of the list, each as its tenant and id."""
    context = client.get(PAGE, asked).context
    return [(row["tenant"], row["job"].pk) for row in context["rows"]]


def test_the_newest_jobs_of_all_tenants_are_one_list_with_their_counts(
    operator: Client, jobs: dict[str, list[int]]
) -> None:
    (died, waits), (fire,) = jobs["acme"], jobs["globex"]

    page = operator.get(PAGE)

    assert found(operator) == [("globex", fire), ("acme", waits), ("acme", died)]
    assert [tally[1:] for tally, _ in page.context["tallies"]] == [
        ("1", "pending"), ("0", "processing"), ("2", "dead letters")
    ]  # fmt: skip
    assert f'href="{PAGE}acme/{died}/"' in page.content.decode()


@pytest.mark.usefixtures("jobs")
def test_filters_and_words_narrow_it(operator: Client, jobs: dict[str, list[int]]) -> None:
    (died, waits), (fire,) = jobs["acme"], jobs["globex"]

    assert found(operator, tenant="globex") == [("globex", fire)]
    assert found(operator, status="dead_letter") == [("globex", fire), ("acme", died)]
    assert found(operator, job_type="mail.send") == [("acme", waits)]
    assert found(operator, queue="mail", status="pending") == [("acme", waits)]
    assert found(operator, q="s3 is") == [("acme", died)]
    assert found(operator, q="greeting") == [("acme", waits)]
    assert ("acme", died) in found(operator, q=str(died))
    assert found(operator, tenant="acme", before=waits) == [("acme", died)]
    assert "No job is like that" in operator.get(PAGE, {"status": "processing"}).content.decode()
    assert "Could not be read: initech." in operator.get(PAGE, {"tenant": "initech"}).content.decode()
    assert operator.get(PAGE, {"status": "lost"}).status_code == 400


@pytest.mark.usefixtures("jobs")
def test_what_is_left_out_for_lack_of_time_or_room_is_said(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_jobs, "SHOWN", 1)
    assert found(operator, tenant="acme")[1:] == []
    older = re.search(r'href="(\?[^"]*before=\d+)"', operator.get(PAGE, {"tenant": "acme"}).content.decode())
    assert older
    assert [row["job"].status for row in operator.get(PAGE + older[1].replace("&amp;", "&")).context["rows"]] == [
        JobStatus.DEAD_LETTER
    ]
    monkeypatch.setattr(fleet_joblist, "_SECONDS", -1.0)
    read, page = [], operator.get(PAGE)
    while page.context["next_url"]:
        assert "time was up before the others" in page.content.decode()
        read.append(page.context["found"].next_tenant)
        page = operator.get(PAGE + page.context["next_url"])
    assert read == list(TENANTS)  # after public


def test_a_tenant_in_trouble_is_said_and_does_not_hide_the_others(operator: Client, jobs: dict[str, list[int]]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE acme.processing_jobs RENAME TO elsewhere")

    assert found(operator) == [("globex", jobs["globex"][0])]
    assert "Could not be read: acme." in operator.get(PAGE).content.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_ticked_is_decided_about_once_and_the_rest_is_counted(
    operator: Client, jobs: dict[str, list[int]], verb: str
) -> None:
    (died, _), (fire,) = jobs["acme"], jobs["globex"]
    form = {"verb": verb, "job": [f"acme:{died}", f"globex:{fire}"]}

    said = operator.post(PAGE, form, follow=True).content.decode()
    again = operator.post(PAGE, form, follow=True).content.decode()

    assert f"2 jobs of 2 tenants {verb}" in said
    assert "Nothing was left to decide" in again
    assert f"In globex: 1 job refused, since only dead letters can be {verb}" in again
    assert states("acme") == [VERBS[verb], JobStatus.PENDING]
    assert states("globex") == [VERBS[verb]]
    past = "Requeued" if verb == "requeue" else "Discarded"
    assert dict(LogEntry.objects.values_list("object_repr", "change_message")) == {
        "acme": f"{past} 1 dead letter: job {died}.",
        "globex": f"{past} 1 dead letter: job {fire}.",
    }


def test_a_job_is_shown_as_in_its_tenants_admin_and_decided_about_there(
    operator: Client, jobs: dict[str, list[int]]
) -> None:
    died, waits = jobs["acme"]
    url = f"{PAGE}acme/{died}/"

    page = operator.get(url).content.decode()

    assert "S3 is away" in page
    assert 'class="jobqueue-timeline"' in page
    assert f"test.print {died} · acme" in page
    assert 'value="requeue"' not in operator.get(f"{PAGE}acme/{waits}/").content.decode()
    assert "1 job of acme requeued." in operator.post(url, {"verb": "requeue"}, follow=True).content.decode()
    assert states("acme")[0] == JobStatus.PENDING
    for nowhere in (f"{PAGE}acme/999999999/", f"{PAGE}initech/{died}/", f"{PAGE}pg_catalog/1/"):
        assert operator.get(nowhere).status_code == 404
        assert operator.post(nowhere, {"verb": "requeue"}).status_code == 404


def test_each_decision_needs_its_right(jobs: dict[str, list[int]]) -> None:
    died = jobs["acme"][0]
    looker = an_operator("view_processingjob")

    for url in (PAGE, f"{PAGE}acme/{died}/"):
        page = looker.get(url).content.decode()
        assert 'name="verb"' not in page
        assert 'type="checkbox"' not in page
        assert looker.post(url, {"verb": "requeue", "job": f"acme:{died}"}).status_code == 403
    assert states("acme")[0] == JobStatus.DEAD_LETTER


def test_who_may_not_look_at_jobs_sees_none(jobs: dict[str, list[int]]) -> None:
    client = an_operator("requeue_processingjob")
    for url in (PAGE, f"{PAGE}acme/{jobs['acme'][0]}/"):
        assert client.get(url).status_code == 403


@pytest.mark.parametrize("ticked", ["acme", "acme:x", "acme:-1", f"acme:{2**63}", ":"])
def test_a_forged_form_is_refused(operator: Client, ticked: str) -> None:
    assert operator.post(PAGE, {"verb": "requeue", "job": ticked}).status_code == 400
    assert operator.post(PAGE, {"verb": "drop", "job": "acme:1"}).status_code == 400


def test_nothing_ticked_is_said(operator: Client) -> None:
    assert "tick some dead letters first" in operator.post(PAGE, {"verb": "requeue"}, follow=True).content.decode()


def test_a_tenants_own_host_has_no_such_pages(tenant: str) -> None:
    client = Client(headers={"host": TENANTS[tenant]})
    client.force_login(User.objects.create_superuser("boss"))
    job_id = Queue().enqueue("test.print", {}).pk

    for url in (PAGE, f"{PAGE}{tenant}/{job_id}/"):
        assert client.get(url).status_code == 403
        assert client.post(url, {"verb": "requeue", "job": f"{tenant}:{job_id}"}).status_code == 403
    assert ProcessingJob.objects.get().status == JobStatus.PENDING
