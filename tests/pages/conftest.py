"""A running site, a browser, and people in two tenants."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, sync_playwright

from dms_project.tenancy import PUBLIC, use
from tests.need import need
from tests.pages.people import PASSWORD, Person
from tests.pages.site import Site

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    need(CHROMIUM)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright leaves an event loop in this thread, in which Django would refuse to use the database.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="package")
def site(browser: Browser, database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(database_url, tmp_path_factory.mktemp("site"))
    yield running
    running.stop()


@pytest.fixture
def users(committed_db: None) -> None:
    """Ada in both tenants, with the same password; an operator in public."""
    for tenant in ("acme", "globex"):
        with use(tenant):
            User.objects.create_user("ada", password=PASSWORD)
    with use(PUBLIC):
        User.objects.create_superuser("operator", password=PASSWORD)


@pytest.fixture
def somebody(site: Site, users: None, browser: Browser) -> Iterator[Callable[..., Person]]:
    """Makes people who aren't logged in. At the end, no browser may have complained of anything."""
    people = []

    def make(tenant: str = "acme", **options: Any) -> Person:
        people.append(Person(browser, site, tenant, **options))
        return people[-1]

    yield make
    complaints = [complaint for person in people for complaint in person.complaints]
    for person in people:
        person.context.close()
    assert complaints == []


@pytest.fixture
def ada(somebody: Callable[..., Person]) -> Person:
    """Ada, logged in at acme."""
    return somebody().log_in()


@pytest.fixture
def worker(site: Site) -> Iterator[None]:
    """Documents are read while the test runs."""
    with site.worker():
        yield


SAMPLES = Path(__file__).resolve().parents[1] / "documents/samples"
