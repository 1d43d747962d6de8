"""Draws the pictures of the documentation. Not a test: run it by scripts/screenshots."""

from collections.abc import Callable
from io import BytesIO
from uuid import UUID

import pytest
from PIL import Image
from playwright.sync_api import Browser, Route, expect

from dms_project.tenancy import use
from documents.exceptions import StorageUnavailable
from jobqueue.queue import Queue
from tests.pages.office import documents
from tests.pages.people import File, Person
from tests.pages.site import ROOT
from tests.pages.test_admin import JOBS, SCHEDULES, TENANTS, desk, schedules_of_all_kinds

IMAGES = ROOT / "docs/images"
SCREENS = {
    "light": {"viewport": {"width": 1180, "height": 760}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1180, "height": 760}, "color_scheme": "dark"},
    "narrow": {"viewport": {"width": 390, "height": 780}, "color_scheme": "light"},
}
# A picture below the fold is not even asked for.
ALL_PICTURES_SHOWN = """() => [...document.images].every(
  (image) => image.complete || image.getBoundingClientRect().top > innerHeight
)"""


@pytest.mark.parametrize("look", SCREENS)
def test_draw(look: str, worker: None, browser: Browser, somebody: Callable[..., Person]) -> None:
    IMAGES.mkdir(exist_ok=True)
    ada = somebody(**SCREENS[look])
    page = ada.page

    def draw(name: str) -> None:
        page.mouse.move(0, 0)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_function(ALL_PICTURES_SHOWN)
        _save(page.screenshot(), f"{name}-{look}")

    ada.go("/login/")
    draw("login")
    ada.log_in()
    draw("empty")
    files = documents(browser)
    for file in files:
        ada.upload(file)
    expect(page.locator(".row")).to_have_count(len(files))
    expect(page.locator(".chip.waiting, .chip.reading")).to_have_count(0, timeout=30_000)
    ada.go()
    draw("list")
    ada.go("/?q=deposit")
    draw("search")
    ada.document("Rental agreement, 12 Market Street")
    draw("document")
    ada.go()
    ada.document("Payslip, February")
    draw("locked")
    page.get_by_role("button", name="Move to trash").click()
    draw("trashed")
    ada.go("/trash/")
    draw("trash")
    ada.go("/documents/00000000-0000-0000-0000-000000000000/")
    draw("error")
    ada.complaints.clear()  # the browser mentions that 404
    ada.go()
    held: list[Route] = []
    holding = True
    page.route("**/api/documents", lambda route: held.append(route) if holding else route.continue_())
    many = [File(f"Receipt {n}.txt", f"Receipt {n}: 12 euros.".encode()) for n in range(1, 4)]
    program, empty, known = File("Setup.exe", b"\x7fELF" + bytes(60)), File("Draft.txt", b""), files[-1]
    ada.drop([program, empty, known, files[4], *many])
    expect(page.locator("#uploads li.sending")).to_have_count(3)
    page.evaluate("document.querySelectorAll('.sending progress').forEach((bar, n) => { bar.value = [88, 52, 17][n] })")
    draw("uploading")
    holding = False
    for route in held:
        route.continue_()
    expect(page.locator("#uploads [data-close]")).to_be_visible(timeout=30_000)
    expect(page.locator(".chip.waiting, .chip.reading")).to_have_count(0, timeout=30_000)
    ada.complaints.clear()  # and that 415
    draw("uploads")
    if look == "light":
        page.get_by_role("button", name="Deutsch").click()
        draw("german")


_WITHOUT_TESTS_OWN = """
  for (const link of document.querySelectorAll("#changelist-filter a"))
    if (link.textContent.startsWith("test")) link.closest("li").remove();
"""


@pytest.mark.usefixtures("users")
@pytest.mark.parametrize("look", SCREENS)
def test_draw_the_admin(look: str, somebody: Callable[..., Person]) -> None:
    with use("globex"):
        Queue().enqueue("documents.process", {}, max_attempts=1)
        Queue().fail(Queue().dequeue("docs1:1203"), OUTAGE)
        Queue().enqueue("documents.process", {})
    with use("acme"):
        dead = a_day_with_an_outage()
        schedules_of_all_kinds()
    acme, operators = desk(somebody, "acme", **SCREENS[look]), desk(somebody, "public", **SCREENS[look])

    for person, path, name in (
        (acme, JOBS, "jobs"),
        (acme, f"{JOBS}causes/", "causes"),
        (acme, f"{JOBS}control/", "control"),
        (acme, f"{JOBS}{dead}/change/", "job"),
        (acme, SCHEDULES, "schedules"),
        (operators, TENANTS, "tenants"),
        (operators, f"{TENANTS}dead-letters/", "fleet"),
        (operators, f"{TENANTS}jobs/", "fleet-jobs"),
        (operators, f"{TENANTS}jobs/acme/{dead}/", "fleet-job"),
    ):
        person.go(path)
        person.page.mouse.move(0, 0)
        person.page.evaluate(_WITHOUT_TESTS_OWN)
        _save(person.page.screenshot(), f"admin-{name}-{look}")


OUTAGE = StorageUnavailable("S3: Could not connect to the endpoint")


def a_day_with_an_outage() -> int:
    """Make jobs in every state, and return the id of a dead letter."""
    queue = Queue()
    deaths = [OUTAGE] * 5 + ["worker died (docs2:4711)", ValueError("Invalid reference to a page")]
    for number in range(20):
        queue.enqueue("documents.process", {"document_id": str(UUID(int=number)), "version": 1}, max_attempts=1)
    for death in deaths:
        job = queue.dequeue("docs2:4711")
        queue.fail(job, death)
    for done in queue.dequeue_many("docs1:1203", 8):
        queue.complete(done, {"status": "ready", "pages": 3})
    queue.report_progress(queue.dequeue("docs1:1203"), 42)
    queue.enqueue("documents.rotate", {"document_id": str(UUID(int=7))})
    return job.pk


def _save(png: bytes, name: str) -> None:
    picture = Image.open(BytesIO(png)).convert("RGB").quantize(96, dither=Image.Dither.NONE)
    picture.save(IMAGES / f"{name}.png", optimize=True)
