"""The operators' list of tenants, with what waits, runs and died in each."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from dms_project.operators.exposition import lines
from dms_project.operators.fleet_counts import FleetCounts
from dms_project.tenancy import use
from dms_project.tenancy.lifecycle import suspend_tenant
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue

LIST = "/admin/tenancy/tenant/"


@pytest.fixture
def operator(db: None) -> Client:
    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("operator", password="secret"))
    return client


def cells(client: Client) -> dict[str, list[str]]:
    """Return the rows of the list by tenant."""
    from lxml import html  # type: ignore[import-untyped]

    page = html.fromstring(client.get(LIST).content)
    rows = [[cell.text_content().strip() for cell in row.xpath("./th|./td")] for row in page.xpath("//tbody/tr")]
    return {row[0]: row[1:-1] for row in rows}


def test_each_tenants_jobs_are_counted_in_its_own_schema(operator: Client) -> None:
    with use("acme"):
        queue = Queue()
        for _ in range(3):
            queue.enqueue("test.any", {})
        ProcessingJob.objects.update(available_at="2001-01-01T00:00:00Z")
        queue.dequeue("w1")
        queue.fail(queue.dequeue("w1"), "no use", retry=False)

    listed = cells(operator)

    assert listed["acme"][0] == "1"
    assert "years" in listed["acme"][1]
    assert listed["acme"][2:4] == ["1", "1"]
    assert listed["globex"] == ["0", "-", "0", "0", "0.0 s", "served"]


def test_a_tenant_in_trouble_is_said_and_does_not_hide_the_others(operator: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE acme.processing_jobs RENAME TO elsewhere")

    listed = cells(operator)

    assert listed["acme"] == ["-", "-", "-", "-", "-", "waits for its migrations: manage.py migrate"]
    assert listed["globex"] == ["0", "-", "0", "0", "0.0 s", "served"]


def test_worker_time_is_that_of_what_ended_within_the_last_hour_and_a_suspended_tenant_says_so(
    operator: Client,
) -> None:
    with use("acme"):
        for _ in range(2):
            Queue().enqueue("test.any", {})
            Queue().complete(Queue().dequeue("w1"))
        with connection.cursor() as cursor:
            cursor.execute("UPDATE processing_jobs SET started_at = finished_at - interval '90 s'")
            cursor.execute(
                "UPDATE processing_jobs SET finished_at = finished_at - interval '2 h' "
                "WHERE id = (SELECT min(id) FROM processing_jobs)"
            )
    suspend_tenant("acme")

    assert cells(operator)["acme"][4:] == ["90.0 s", "suspended"]
    fleet_counts = FleetCounts()
    fleet_counts.refresh(5)
    metrics = list(lines(fleet_counts))
    assert 'dms_worker_seconds_last_hour{tenant="acme"} 90.0' in metrics
    assert "dms_tenants_suspended 1" in metrics


def test_a_tenants_own_host_has_no_such_list(tenant: str) -> None:
    client = Client(headers={"host": f"{tenant}.localhost"})
    client.force_login(User.objects.create_superuser("boss", password="secret"))

    assert client.get(LIST).status_code == 403


@pytest.mark.parametrize("model", ["document", "auditentry"])
def test_there_are_no_documents_at_the_operators_host(operator: Client, model: str) -> None:
    assert operator.get(f"/admin/documents/{model}/").status_code == 403
    assert f"/admin/documents/{model}/" not in operator.get("/admin/").content.decode()
