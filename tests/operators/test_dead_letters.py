"""The operators' page about the dead letters of all tenants."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client

from dms_project.operators import fleet_causes
from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.states import JobStatus
from tests.conftest import TENANTS

PAGE = "/admin/tenancy/tenant/dead-letters/"
VERBS = {"requeue": JobStatus.PENDING, "discard": JobStatus.FAILED}


def an_operator(*codenames: str) -> Client:
    """Return the browser of a member of staff at the operators' host who may look at tenants, and has these rights."""
    user = User.objects.create_user("operator", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_tenant", *codenames]))
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    return an_operator("view_processingjob", "requeue_processingjob", "discard_processingjob")


@pytest.fixture
def outage(db: None) -> dict[str, list[int]]:
    """The storage was away: two jobs of acme and one of globex died of it, and then one of acme of something else.

    Returns the ids by tenant.
    """
    return {"acme": die_of("acme", "S3 is away", "S3 is away", "on fire"), "globex": die_of("globex", "S3 is away")}


def die_of(tenant: str, *errors: str) -> list[int]:
    with use(tenant):
        for error in errors:
            Queue().enqueue("test.print", {}, max_attempts=1)
            Queue().fail(Queue().dequeue("w1"), error)
        return list(ProcessingJob.objects.order_by("pk").values_list("pk", flat=True))


def states(tenant: str) -> list[str]:
    with use(tenant):
        return list(ProcessingJob.objects.order_by("pk").values_list("status", flat=True))


def found(client: Client, url: str = PAGE) -> dict[str, tuple[int, dict[str, int]]]:
    context = client.get(url).context
    return {group.cause: (group.jobs, group.newest_ids) for group in context["causes"]}


def press(client: Client, verb: str, newest: str) -> str:
    """Decide about those that the storage's outage has killed."""
    choice = {"verb": verb, "job_type": "test.print", "cause": "S3 is away", "newest": newest}
    return client.post(PAGE, choice, follow=True).content.decode()


@pytest.fixture
def newest(outage: dict[str, list[int]]) -> str:
    """What the page sends for the outage."""
    return f"acme:{outage['acme'][1]} globex:{outage['globex'][0]}"


def test_what_tenants_died_of_together_is_one_line(operator: Client, outage: dict[str, list[int]]) -> None:
    _, second, third = outage["acme"]
    (only,) = outage["globex"]

    assert found(operator) == {"S3 is away": (3, {"acme": second, "globex": only}), "on fire": (1, {"acme": third})}
    assert found(operator, f"{PAGE}?tenant=globex") == {"S3 is away": (1, {"globex": only})}
    assert operator.get(f"{PAGE}?tenant=nobody").status_code == 404
    assert f'<a href="{PAGE}?tenant=acme">3</a>' in operator.get("/admin/tenancy/tenant/").content.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_one_button_decides_about_all_of_a_cause_and_a_double_click_once(
    operator: Client, outage: dict[str, list[int]], newest: str, verb: str
) -> None:
    said = press(operator, verb, newest)
    again = press(operator, verb, newest)

    assert f"3 jobs of 2 tenants {verb}" in said
    assert "Nothing was left to decide" in again
    assert states("acme") == [VERBS[verb], VERBS[verb], JobStatus.DEAD_LETTER]
    assert states("globex") == [VERBS[verb]]
    first, second, _ = outage["acme"]
    past = "Requeued" if verb == "requeue" else "Discarded"
    assert dict(LogEntry.objects.values_list("object_repr", "change_message")) == {
        "acme": f"{past} 2 dead letters of test.print (S3 is away): jobs {first}, {second}.",
        "globex": f"{past} 1 dead letter of test.print (S3 is away): job {outage['globex'][0]}.",
    }
    for tenant in TENANTS:
        with use(tenant):
            assert not LogEntry.objects.exists()  # whose users have other ids


def test_what_died_since_the_page_was_shown_is_left_alone(operator: Client, newest: str) -> None:
    die_of("globex", "S3 is away")

    assert "3 jobs of 2 tenants requeued." in press(operator, "requeue", newest)
    assert states("globex") == [JobStatus.PENDING, JobStatus.DEAD_LETTER]


def test_a_tenant_that_is_gone_or_was_made_up_is_said_and_stops_nobody(operator: Client, newest: str) -> None:
    said = press(operator, "requeue", f"initech:7 pg_catalog:1 {newest}")

    assert "3 jobs of 2 tenants requeued." in said
    assert "Gone meanwhile: initech, pg_catalog." in said


def test_a_tenant_in_trouble_is_said_and_does_not_hide_the_others(
    operator: Client, outage: dict[str, list[int]]
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE acme.processing_jobs RENAME TO elsewhere")

    assert found(operator) == {"S3 is away": (1, {"globex": outage["globex"][0]})}
    assert "Could not be read in time: acme." in operator.get(PAGE).content.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_each_decision_needs_its_right(newest: str, verb: str) -> None:
    other = next(iter(VERBS.keys() - {verb}))
    client = an_operator("view_processingjob", f"{other}_processingjob")

    page = client.get(PAGE).content.decode()
    choice = {"verb": verb, "job_type": "test.print", "cause": "S3 is away", "newest": newest}

    assert f'value="{other}"' in page
    assert f'value="{verb}"' not in page
    assert client.post(PAGE, choice).status_code == 403
    assert states("acme") == [JobStatus.DEAD_LETTER] * 3


@pytest.mark.usefixtures("outage")
def test_where_not_all_were_looked_through_the_page_says_so(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    reach = "Counted among the newest"
    assert reach not in operator.get(PAGE).content.decode()
    monkeypatch.setattr(fleet_causes, "REACH", 2)
    assert reach in operator.get(PAGE).content.decode()


def test_who_may_not_look_at_jobs_sees_none(db: None) -> None:
    assert an_operator("requeue_processingjob").get(PAGE).status_code == 403


@pytest.mark.parametrize("newest", ["", "acme", "acme:x", "acme:-1", f"acme:{2**63}", ":", "\0"])
def test_a_forged_form_is_refused(operator: Client, newest: str) -> None:
    choice = {"verb": "requeue", "job_type": "test.print", "cause": "", "newest": newest}
    assert operator.post(PAGE, choice).status_code == 400


def test_a_tenants_own_host_has_no_such_page(tenant: str) -> None:
    client = Client(headers={"host": TENANTS[tenant]})
    client.force_login(User.objects.create_superuser("boss"))

    assert client.get(PAGE).status_code == 403
    assert client.post(PAGE, {"verb": "requeue"}).status_code == 403
