"""The admin's pages in a browser: for screen readers, in both colours, and on a phone."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from dms_project.tenancy import use
from jobqueue.models import JobSchedule
from jobqueue.queue import Queue
from tests.pages.people import PASSWORD, Person
from tests.pages.test_accessible import CONTRAST, DESK, EVERYTHING, PHONE, violations

JOBS = "/admin/jobqueue/processingjob/"
TENANTS = "/admin/tenancy/tenant/"
SCHEDULES = "/admin/jobqueue/jobschedule/"
# Django's own parts of each page, whose links are small, or told from the text by their colour alone.
DJANGOS = ["#header", "#nav-sidebar", ".breadcrumbs", "#changelist-filter", "#toolbar"]


def desk(somebody: Callable[..., Person], tenant: str, **options: Any) -> Person:
    """Return somebody who is logged in at the admin of a tenant, or of the operators."""
    with use(tenant):
        User.objects.create_superuser("boss", password=PASSWORD)
    person = somebody(tenant, **options)
    person.go("/admin/")
    person.page.fill("#id_username", "boss")
    person.page.fill("#id_password", PASSWORD)
    person.page.click("[type=submit]")
    expect(person.page.locator("#site-name")).to_be_visible()
    return person


def complaints(person: Person) -> list[str]:
    """What the browser complained of; what axe finds in either colour; and whether a phone must scroll sideways."""
    page, found = person.page, list(person.complaints)
    for scheme, rules in (("light", EVERYTHING), ("dark", CONTRAST)):
        page.emulate_media(color_scheme=scheme)
        page.evaluate("Promise.all(document.getAnimations().map((fade) => fade.finished))")
        found += violations(page, rules, without=DJANGOS)
    page.set_viewport_size(PHONE)
    if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
        found.append("wider than a narrow phone")
    page.set_viewport_size(DESK)
    person.complaints.clear()  # axe tries to set styles, which the policy of the admin forbids
    return found


def jobs_of_all_kinds() -> int:
    """Make jobs in each state, and return the dead letter's id."""
    queue = Queue()
    for _ in range(4):
        queue.enqueue("documents.process", {"document_id": 7})
    queue.complete(queue.dequeue("w1"), {"status": "ready"})
    dead = queue.dequeue("w1")
    queue.fail(dead, ValueError("the printer is on fire " * 20), retry=False)
    queue.dequeue("w1")
    queue.enqueue("mail.send", {}, queue_name="mail")
    queue.pause("mail")
    return dead.pk


def schedules_of_all_kinds() -> None:
    """Make some that wait, one that is paused, one that is late and one that fails."""
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    hour = timedelta(hours=1)
    common = {"job_type": "documents.process", "done_until": now}
    make = JobSchedule.objects.create
    job = Queue().enqueue("documents.process", {"document_id": 7})
    make(name="read.inbox", timetable="every 15 min", last_at=now, last_job_id=job.pk, next_at=now + hour, **common)
    make(name="report.weekly", timetable="0 6 * * 1 Europe/Berlin", next_at=now + 100 * hour, **common)
    make(name="statements.monthly", timetable="30 2 1 * * Europe/Berlin", paused=True, **common)
    make(name="mirror", timetable="every 1 h", last_at=now - 3 * hour, last_job_id=1, next_at=now - 2 * hour, **common)
    make(name="old.export", timetable="every 1 d", next_at=now - 50 * hour, done_until=now - 50 * hour)
    problem = "jobqueue.exceptions.InvalidJob: payload must be a dict, not list."
    make(name="typo", timetable="every 1 d", next_at=now + 12 * hour, problem=problem, **common)


@pytest.mark.usefixtures("users")
def test_axe_finds_nothing_on_the_pages_about_jobs(somebody: Callable[..., Person]) -> None:
    with use("acme"):
        dead = jobs_of_all_kinds()
        schedules_of_all_kinds()
    person = desk(somebody, "acme")

    found = {}
    for path in (JOBS, f"{JOBS}{dead}/change/", f"{JOBS}causes/", f"{JOBS}control/", SCHEDULES, f"{SCHEDULES}add/"):
        assert person.go(path) == 200
        found[path] = complaints(person)
    assert {path: complaint for path, complaint in found.items() if complaint} == {}

    # The control room follows what happens, without being asked, and keeps the focus where it was.
    person.go(f"{JOBS}control/")
    button = person.page.get_by_role("button", name="Pause the queue default")
    button.focus()
    with use("acme"):
        Queue().enqueue("test.ok", {}, queue_name="reports")
    expect(person.page.locator("#jobqueue-live")).to_contain_text("reports", timeout=30_000)
    expect(button).to_be_focused()
    assert person.complaints == []


@pytest.mark.usefixtures("users")
def test_axe_finds_nothing_on_the_pages_about_all_tenants(somebody: Callable[..., Person]) -> None:
    with use("acme"):
        jobs_of_all_kinds()
    person = desk(somebody, "public")

    person.go(TENANTS)
    expect(person.page.locator("#result_list")).to_contain_text("globex")
    assert complaints(person) == []

    person.page.get_by_role("link", name="Dead letters of all tenants").click()
    expect(person.page.locator(".jobqueue-causes")).to_contain_text("the printer is on fire")
    assert complaints(person) == []

    person.go(f"{TENANTS}jobs/")
    expect(person.page.locator(".jobqueue-jobs")).to_contain_text("the printer is on fire")
    assert complaints(person) == []

    person.page.locator(".jobqueue-jobs tr", has_text="the printer is on fire").get_by_role("link").click()
    expect(person.page.locator(".jobqueue-timeline")).to_contain_text("the printer is on fire")
    assert complaints(person) == []


@pytest.mark.usefixtures("users")
def test_on_a_phone_a_dead_letters_error_is_seen_without_scrolling_sideways(somebody: Callable[..., Person]) -> None:
    with use("acme"):
        jobs_of_all_kinds()
    person = desk(somebody, "acme")
    page: Page = person.page
    page.set_viewport_size({"width": 360, "height": 720})

    person.go(f"{JOBS}?status__exact=dead_letter")

    note = page.locator("#result_list .field-note")
    expect(note).to_contain_text("the printer is on fire")
    box = note.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
