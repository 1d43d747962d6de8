"""What a person does on a day."""

from playwright.sync_api import expect

from tests.pages.conftest import SAMPLES
from tests.pages.people import File, Person

LETTERS = [
    File(f"Letter {n}.txt", f"Letter {n}\n\nDear reader, page {n} of the zeppelin files.".encode())
    for n in range(1, 12)
]


def test_a_day_at_the_office(worker: None, ada: Person) -> None:
    page = ada.page
    expect(page.get_by_text("No documents yet")).to_be_visible()

    samples = [File.of(path) for path in sorted(SAMPLES.iterdir()) if path.suffix != ".md"]
    ada.upload(*samples, *LETTERS)
    assert page.locator("#uploads li.stored").count() == len(samples) + len(LETTERS) >= 20
    expect(page.locator("#uploads [role=status]")).to_contain_text(f"{len(samples) + len(LETTERS)} of")
    page.click("[data-close]")

    # Nothing is reloaded, and all become what they can be.
    page.evaluate("window.sameDocument = true")
    expect(page.locator(".row")).to_have_count(len(samples) + len(LETTERS))
    expect(page.locator(".chip.waiting, .chip.reading")).to_have_count(0, timeout=60_000)
    assert page.evaluate("window.sameDocument")
    expect(ada.row("Letter 7").locator(".chip")).to_have_text("Ready")
    expect(ada.row("libreoffice-writer-password")).to_contain_text("Locked with a password")

    # Search as one types; the address follows, and a step back leads out of the search.
    page.locator("#q").press_sequentially("misfits rebels", delay=20)
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator(".snippet mark").first).to_be_visible()
    assert "q=misfits+rebels" in page.url
    page.click(".row a.title")
    expect(page.locator(".prose mark").first).to_be_visible()
    expect(page.get_by_role("article", name="Page 1")).to_contain_text("The Crazy Ones")
    page.go_back()
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator("#q")).to_have_value("misfits rebels")
    page.go_back()
    expect(page.locator(".row")).to_have_count(len(samples) + len(LETTERS))
    expect(page.locator("#q")).to_have_value("")

    # One that failed says why in plain words; another try ends the same way, and is written down.
    ada.document("libreoffice-writer-password")
    expect(page.get_by_text("protected with a password")).to_be_visible()
    expect(page.get_by_text("Somebody who knows the password can open it here")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#facts .chip")).to_have_text("Not readable", timeout=20_000)
    expect(page.locator("#about")).to_contain_text("Sent to be read again by ada")

    # A better title, the trash, and back.
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Title", exact=True).fill("Minutes, locked")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("Minutes, locked")
    page.get_by_role("button", name="Move to trash").click()
    expect(page.get_by_text("“Minutes, locked” is in the trash.")).to_be_visible()
    expect(ada.row("Minutes, locked")).to_have_count(0)
    page.get_by_role("link", name="Trash").click()
    page.get_by_role("button", name="Restore Minutes, locked").click()
    expect(page.locator("h1")).to_have_text("Minutes, locked")
    expect(page.locator("#about")).to_contain_text("from “libreoffice-writer-password” to “Minutes, locked”")

    # Whoever knows the password has it read; the original stays locked.
    page.get_by_label("Password of the document").fill("wrong")
    page.get_by_role("button", name="Open it").click()
    expect(page.get_by_text("This password doesn’t open the document.")).to_be_visible()
    page.get_by_label("Password of the document").fill("openpassword")
    page.get_by_role("button", name="Open it").click()
    expect(page.locator("#about")).to_contain_text("Opened with its password by ada")
    expect(page.locator("#facts .chip")).to_have_text("Ready", timeout=20_000)

    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download").click()
    assert downloading.value.path().read_bytes() == (SAMPLES / "libreoffice-writer-password.pdf").read_bytes()

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
