"""For everybody: screen readers, keyboards, phones, browsers without scripts, either colour scheme."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth.models import User
from playwright.sync_api import Page, ViewportSize, expect

from dms_project.tenancy import use
from tests.pages.conftest import SAMPLES
from tests.pages.people import PASSWORD, File, Person

AXE = Axe()
LOCKED = File("Payslip.pdf", (SAMPLES / "libreoffice-writer-password.pdf").read_bytes())
NOTE = File("Note.txt", b"The zeppelin is late.")
SCAN = File("Scan.png", (SAMPLES / "typewriter.png").read_bytes())
EXE = File("Setup.exe", b"\x7fELF" + bytes(60))
EVERYTHING = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
DESK: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 320, "height": 640}


def violations(page: Page, rules: dict[str, Any], without: Sequence[str] = ()) -> list[str]:
    """What axe finds on a page, leaving out the parts that these selectors name."""
    if page.evaluate("!window.axe"):
        page.evaluate(AXE.axe_script)
    options = rules | {"resultTypes": ["violations"]}  # of what is in order, one example of each kind
    exclude = [[part] for part in without]
    result = page.evaluate(
        "([exclude, options]) => axe.run({include: [['html']], exclude}, options)", [exclude, options]
    )
    assert result["passes"]
    return [
        f"{each['id']}: {each['help']}: {[node['html'] for node in each['nodes']]}" for each in result["violations"]
    ]


def complaints(page: Page) -> list[str]:
    """All that axe finds in light colours, what it says of contrasts in dark ones, and whether a phone must scroll."""
    page.emulate_media(color_scheme="light")
    found = violations(page, EVERYTHING)
    page.emulate_media(color_scheme="dark")
    found += violations(page, CONTRAST)
    page.set_viewport_size(PHONE)
    if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
        found.append("wider than a narrow phone")
    page.set_viewport_size(DESK)
    return found


def tour(person: Person, look: Callable[[str], None]) -> None:
    """Take somebody through every page in every state, and have each looked at."""
    page = person.page
    person.go("/login/")
    look("login")
    person.log_in(password="wrong")
    look("a refused login")
    person.log_in()
    look("the empty list")
    person.upload(NOTE, LOCKED, SCAN, EXE)
    look("uploads")
    page.click("[data-close]")
    look("documents in progress")
    with person.site.worker():
        expect(page.locator(".row")).to_have_count(3)
        expect(page.locator(".chip.waiting, .chip.reading")).to_have_count(0, timeout=30_000)
    look("the list")
    page.fill("#q", "zeppelin")
    expect(page.locator(".snippet mark")).to_be_visible()
    look("hits")
    person.document("Note")
    page.get_by_text("Edit", exact=True).click()
    look("a document")
    person.go()
    person.document("Scan")
    expect(page.get_by_role("img", name="Preview of the picture")).to_be_visible()
    look("a picture")
    person.go("/?q=nothingtofind")
    page.get_by_text("Save this search").click()
    look("no hits")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="nothingtofind")).to_have_attribute("href", "?q=nothingtofind")
    look("a saved search")
    person.go("/labels/")
    look("no labels")
    person.go("/?status=partial")
    look("nothing in a state")
    person.go()
    person.document("Payslip")
    look("a locked document")
    page.get_by_role("button", name="Move to trash").click()
    look("a message")
    person.go("/trash/")
    look("the trash")
    page.get_by_role("button", name="Restore").click()
    person.go("/trash/")
    look("the empty trash")
    person.go("/documents/00000000-0000-0000-0000-000000000000/")
    look("an error")
    person.complaints = [each for each in person.complaints if "404" not in each and "415" not in each]


def test_every_page_is_accessible_in_either_colours_and_fits_a_phone(somebody: Callable[..., Person]) -> None:
    person = somebody()
    found: dict[str, list[str]] = {}

    def look(where: str) -> None:
        if heard := complaints(person.page):
            found[where] = heard

    tour(person, look)
    person.go()
    person.upload(File("w" * 200 + ".txt", b"w" * 5000))
    look("a long name")
    person.document("w" * 200)
    look("a document with a long name")
    assert found == {}


def focused(page: Page) -> str:
    with_focus = "const e = document.activeElement; return (e.ariaLabel || e.innerText || e.name || e.id).trim()"
    name: str = page.evaluate(f"() => {{ {with_focus} }}")
    return name


def tab_to(page: Page, name: str, most: int = 40) -> None:
    """Press Tab until something of this name has the focus, which must then be visible."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if focused(page).startswith(name):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"the focus on {name} can't be seen"
            return
    pytest.fail(f"no Tab leads to {name!r}")


def follow(page: Page, name: str = "") -> None:
    """Press Enter on something that leads to another page, and wait for that."""
    if name:
        tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def test_everything_can_be_done_with_the_keyboard(worker: None, somebody: Callable[..., Person], tmp_path: Any) -> None:
    person = somebody()
    page = person.page
    keys = page.keyboard
    person.go("/login/")
    keys.type("ada")
    tab_to(page, "password")
    keys.type(PASSWORD)
    follow(page)

    keys.press("Tab")
    assert focused(page) == "Skip to the content"
    keys.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    (tmp_path / "Note.txt").write_bytes(NOTE.content)
    with page.expect_file_chooser() as choosing:
        tab_to(page, "Upload")
        keys.press("Enter")
    choosing.value.set_files(tmp_path / "Note.txt")
    expect(page.locator(".row .chip.ready")).to_have_count(1, timeout=30_000)
    follow(page, "Note")
    tab_to(page, "Edit")
    keys.press("Enter")
    tab_to(page, "title")
    keys.press("Control+A")
    keys.type("Airship")
    follow(page)
    expect(page.locator("h1")).to_have_text("Airship")
    follow(page, "Move to trash")
    follow(page, "Undo")
    expect(page.locator("h1")).to_have_text("Airship")
    follow(page, "Log out")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_logging_in_searching_reading_and_downloading_work_without_scripts(
    worker: None, ada: Person, somebody: Callable[..., Person]
) -> None:
    ada.upload(NOTE)
    expect(ada.page.locator(".chip.ready")).to_be_visible(timeout=30_000)
    person = somebody(java_script_enabled=False).log_in()
    page = person.page

    expect(page.get_by_text("Uploading needs JavaScript")).to_be_visible()
    expect(page.get_by_role("button", name="Upload")).to_be_hidden()
    page.fill("#q", "zeppelin")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".snippet mark")).to_have_text("zeppelin")
    person.document("Note")
    expect(page.locator(".prose")).to_have_text(NOTE.content.decode())
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download").click()
    assert downloading.value.path().read_bytes() == NOTE.content


def test_the_colours_follow_the_system_until_others_are_chosen(somebody: Callable[..., Person]) -> None:
    person = somebody(color_scheme="dark").log_in()
    page = person.page
    paper = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Light").click()
    light = page.evaluate(paper)
    assert light != dark

    person.go("/trash/")
    assert page.evaluate(paper) == light
    page.get_by_role("button", name="System").click()
    person.go()
    assert page.evaluate(paper) == dark


@pytest.mark.parametrize("tenant", ["acme", "public"])
def test_the_admin_and_the_apis_documentation_work_under_their_own_policies(
    tenant: str, somebody: Callable[..., Person]
) -> None:
    with use(tenant):
        User.objects.create_superuser("boss", password=PASSWORD)
    person = somebody(tenant)
    page = person.page
    person.go("/admin/")
    page.fill("#id_username", "boss")
    page.fill("#id_password", PASSWORD)
    page.click("[type=submit]")
    expect(page.locator("#site-name")).to_be_visible()
    for path in ("auth/user/add/", "auth/user/", "jobqueue/processingjob/"):
        assert person.go(f"/admin/{path}") == 200
    if tenant == "acme":
        assert person.go("/admin/documents/document/") == 200
        person.go("/api/docs")
        expect(page.locator("#swagger-ui .title").first).to_contain_text("Documents")
