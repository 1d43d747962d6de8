"""Thumbnails on the pages: where they stand, what stands there without one, and what is said about them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Locator, Page, expect

from documents.models import Document, DocumentVersion
from documents.states import DocumentStatus
from tests.documents import files, pictures
from tests.pages import made
from tests.pages.people import File, Person
from tests.pages.site import Site

LEASE = File("Lease.pdf", files.pdf("Rooms to let."))
PHOTO = File("Photo.jpg", pictures.lying(6))
NOTE = File("Note.txt", b"The zeppelin is late.")
IS_SHOWN = "(image) => image.complete && image.naturalWidth > 1"


@pytest.fixture
def client(tenant: str) -> Client:
    browser = Client(headers={"host": f"{tenant}.localhost"})
    browser.force_login(User.objects.create_user("ada"))
    return browser


def step(name: str, status: str, reason: str = "") -> dict[str, str]:
    return {"name": name, "status": status, "reason": reason, "detail": ""}


def with_thumbnail(**fields: Any) -> Document:
    document = made.document(**fields)
    described = {"thumbnail_key": f"a/{document.pk}", "thumbnail_sha256": "a" * 64, "thumbnail_size_bytes": 1}
    DocumentVersion.objects.filter(document=document).update(**described)
    return document


def test_only_a_document_that_has_a_thumbnail_asks_for_it_and_only_when_it_is_near(client: Client) -> None:
    drawn, plain = with_thumbnail(), made.document()
    for path in ("/", f"/documents/{drawn.pk}/"):
        page = client.get(path).content.decode()
        assert f'<img src="/api/documents/{drawn.pk}/thumbnail?v=aaaaaaaaaaaaaaaa"' in page
        assert page.count("<img") == page.count('loading="lazy"') == 1
    for path in ("/", f"/documents/{plain.pk}/"):
        assert f"/api/documents/{plain.pk}/thumbnail" not in client.get(path).content.decode()


def test_in_the_trash_there_are_no_thumbnails(client: Client) -> None:
    with_thumbnail(trashed=True)
    assert "<img" not in client.get("/trash/").content.decode()


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Preview of the first page"), ("de", "Vorschau der ersten Seite")]
)
def test_a_thumbnail_is_described_on_its_page_and_in_a_list_the_title_says_it(
    client: Client, language: str, said: str
) -> None:
    document = with_thumbnail()
    headers = {"Accept-Language": language}
    assert f'alt="{said}"' in client.get(f"/documents/{document.pk}/", headers=headers).content.decode()
    assert 'alt=""' in client.get("/", headers=headers).content.decode()


@pytest.mark.parametrize(
    ("status", "steps", "label", "problem"),
    [
        (
            DocumentStatus.READY,
            [step("inspect", "done"), step("text", "skipped", "no_text"), step("thumbnail", "done")],
            "Ready",
            "No text in it",
        ),
        (
            DocumentStatus.READY,
            [step("inspect", "done"), step("text", "done"), step("thumbnail", "skipped", "unsupported")],
            "Ready",
            None,
        ),
        (
            DocumentStatus.PARTIAL,
            [step("inspect", "done"), step("text", "done"), step("thumbnail", "failed", "too_large")],
            "Partly readable",
            "No picture of it",
        ),
        (
            DocumentStatus.FAILED,
            [step("inspect", "failed", "damaged"), step("thumbnail", "skipped", "damaged")],
            "Not readable",
            "Damaged",
        ),
        (
            DocumentStatus.FAILED,
            [step("inspect", "skipped", "unsupported"), step("thumbnail", "skipped", "unsupported")],
            "Stored",
            "No reader for this type",
        ),
        (
            DocumentStatus.FAILED,
            [step("inspect", "failed", "too_large"), step("thumbnail", "skipped", "unsupported")],
            "Not readable",
            "Too large to read whole",
        ),
    ],
    ids=["picture", "text", "no picture", "damaged picture", "unknown type", "text too large"],
)
def test_what_a_document_says_of_itself(
    client: Client, status: DocumentStatus, steps: list[dict[str, str]], label: str, problem: str | None
) -> None:
    document = made.document(status=status, steps=steps)
    row = client.get("/").content.decode().partition('class="rows"')[2]
    assert label in row
    assert ('class="reason"' in row) == (problem is not None)
    page = client.get(f"/documents/{document.pk}/").content.decode()
    for shown in (row, page):
        assert problem is None or problem in shown


# In a browser


def shows(place: Locator) -> None:
    """Wait until a picture is there, and can be seen as one."""
    expect(place.locator("img")).to_have_count(1, timeout=30_000)
    place.page.wait_for_function(IS_SHOWN, arg=place.locator("img").element_handle())


def box(page: Page, selector: str) -> dict[str, float]:
    found = page.locator(selector).bounding_box()
    assert found
    return dict(found)


def test_thumbnails_appear_by_themselves_and_nothing_jumps(site: Site, ada: Person) -> None:
    page = ada.page
    ada.upload(NOTE, PHOTO, LEASE)
    page.click("[data-close]")
    expect(page.locator(".row")).to_have_count(3)
    rows = box(page, ".rows")
    with site.worker():
        for title in ("Lease", "Photo"):
            shows(ada.row(title))
    expect(ada.row("Note").locator(".kind")).to_have_text("TXT")
    expect(ada.row("Note").locator("img")).to_have_count(0)
    expect(page.locator(".chip.ready")).to_have_count(3, timeout=30_000)
    assert box(page, ".rows")["y"] == rows["y"]
    sizes = {tuple(each.bounding_box()[side] for side in ("width", "height")) for each in page.locator(".kind").all()}  # type: ignore[index]  # visible
    assert len(sizes) == 1


def test_an_open_document_shows_its_thumbnail_when_it_has_been_drawn(site: Site, ada: Person) -> None:
    page = ada.page
    ada.upload(PHOTO)
    ada.document("Photo")
    before = box(page, "#picture")
    expect(page.locator("#picture")).to_have_text("JPG")
    with site.worker():
        shows(page.locator("#picture"))
    assert box(page, "#picture") == before
    expect(page.get_by_role("img", name="Preview of the picture")).to_be_visible()
    expect(page.locator("#facts .chip")).to_have_text("Ready")


def test_a_thumbnail_that_can_not_be_had_gives_way_to_the_badge(
    site: Site, worker: None, ada: Person, somebody: Callable[..., Person]
) -> None:
    ada.upload(LEASE)
    shows(ada.row("Lease"))
    for file in site.storage.glob("acme/*/1/thumbnail-*"):
        file.unlink()
    other = somebody().log_in()
    expect(other.row("Lease").locator(".kind")).to_have_text("PDF")
    expect(other.page.locator("img")).to_have_count(0)
    other.document("Lease")
    expect(other.page.locator("img")).to_have_count(0)
    other.complaints = [each for each in other.complaints if "404" not in each]
