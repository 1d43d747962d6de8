"""Dropping files, and what becomes of those that are not taken."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, Route, expect

from tests.documents.disks import mount, unmount
from tests.documents.servers import prepare_folder
from tests.pages.people import File, Person
from tests.pages.site import Site

NOTE = File("Note.txt", b"The zeppelin is late.")


def upload_of(page: Page, name: str) -> Locator:
    return page.locator("#uploads li", has=page.get_by_text(name, exact=True))


def test_each_file_says_in_words_what_became_of_it(ada: Person) -> None:
    page = ada.page
    ada.upload(NOTE)
    page.click("[data-close]")

    ada.upload(
        File("Other name.txt", NOTE.content),
        File("Setup.exe", b"\x7fELF" + bytes(60)),
        File("Nothing.txt", b""),
        File("Film.bin", bytes(2**20 + 1)),
    )

    expect(upload_of(page, "Other name.txt")).to_contain_text("Already there, not stored twice")
    expect(upload_of(page, "Other name.txt").get_by_role("link", name="Open: Note")).to_be_visible()
    expect(upload_of(page, "Setup.exe")).to_contain_text("programs are no documents")
    expect(upload_of(page, "Nothing.txt")).to_contain_text("the file is empty")
    expect(upload_of(page, "Film.bin")).to_contain_text("larger than 1.0")
    expect(page.locator("#uploads [role=status]")).to_have_text("4 of 4 finished, 3 not taken")
    expect(page.locator(".row")).to_have_count(1)
    assert [complaint for complaint in ada.complaints if "415" not in complaint] == []
    ada.complaints.clear()


def test_what_lay_in_the_trash_is_back(ada: Person) -> None:
    page = ada.page
    ada.upload(NOTE)
    ada.document(NOTE.title)
    page.get_by_role("button", name="Move to trash").click()

    ada.upload(NOTE)

    expect(upload_of(page, NOTE.name)).to_contain_text("It was in the trash and is back")
    expect(ada.row(NOTE.title)).to_be_visible()


def test_when_the_connection_is_lost_one_file_can_be_tried_again(ada: Person) -> None:
    page = ada.page
    ada.context.set_offline(True)
    ada.upload(NOTE)
    expect(upload_of(page, NOTE.name)).to_contain_text("The connection was lost")
    ada.context.set_offline(False)

    page.get_by_role("button", name="Try again: Note.txt").click()

    expect(upload_of(page, NOTE.name)).to_contain_text("Uploaded")
    expect(ada.row(NOTE.title)).to_be_visible()
    ada.complaints.clear()  # of being offline


def test_a_large_file_goes_on_by_itself_after_the_connection_was_lost(ada: Person) -> None:
    page, sent, lost = ada.page, list[str](), [False]
    page.evaluate("Resumable.PIECE_BYTES = 100_000")

    def send(route: Route) -> None:
        if route.request.method == "PATCH":
            sent.append(route.request.headers["upload-offset"])
            lost[0] = len(sent) == 2
        if lost[0]:
            route.abort()
        else:
            route.continue_()

    page.route("**/api/uploads/*", send)
    ada.drop([File("Large.txt", NOTE.content * 20_000)])

    expect(upload_of(page, "Large.txt")).to_contain_text("It goes on by itself")
    lost[0] = False
    expect(upload_of(page, "Large.txt")).to_contain_text("Uploaded", timeout=30_000)
    assert sent == ["0", "100000", "100000", "200000", "300000", "400000"]
    ada.upload(File("Other name.txt", NOTE.content * 20_000))
    expect(upload_of(page, "Other name.txt")).to_contain_text("Already there, not stored twice")
    expect(page.locator(".row")).to_have_count(1)
    ada.complaints.clear()  # of the connection


def test_when_the_storage_is_down_one_file_can_be_tried_again(site: Site, ada: Person) -> None:
    page = ada.page
    site.storage.rename(site.storage.with_name("away"))
    try:
        ada.upload(NOTE)
        expect(upload_of(page, NOTE.name)).to_contain_text("The storage can’t be reached just now")
    finally:
        site.storage.with_name("away").rename(site.storage)

    page.get_by_role("button", name="Try again: Note.txt").click()

    expect(upload_of(page, NOTE.name)).to_contain_text("Uploaded")
    assert all("503" in complaint for complaint in ada.complaints)
    ada.complaints.clear()


def test_a_full_storage_is_told_from_one_that_is_down(site: Site, ada: Person) -> None:
    mount(site.storage, "64k")
    try:
        prepare_folder(site.storage)
        ada.upload(File("Large.txt", b"large " * 20_000))
        expect(upload_of(ada.page, "Large.txt")).to_contain_text("The storage is full")
    finally:
        unmount(site.storage)
    ada.complaints.clear()  # of the 507


def test_after_a_logout_elsewhere_an_upload_says_so_and_works_after_a_login_elsewhere(ada: Person) -> None:
    page = ada.page
    elsewhere = ada.context.new_page()
    elsewhere.goto(page.url)
    elsewhere.get_by_role("button", name="Log out").click()

    ada.upload(NOTE)
    expect(upload_of(page, NOTE.name)).to_contain_text("You are logged out")
    ada.page = elsewhere
    ada.log_in()
    page.get_by_role("button", name="Try again: Note.txt").click()

    expect(upload_of(page, NOTE.name)).to_contain_text("Uploaded")
    ada.complaints.clear()  # of the 401


def drop_folder(page: Page, folder: Path) -> None:
    """Drop a folder of this machine, which only the browser itself can."""
    tools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 200, "data": data})


def test_files_and_folders_can_be_chosen_as_well_as_dropped(ada: Person, tmp_path: Path) -> None:
    for name in ("One.txt", "Two.txt"):
        (tmp_path / name).write_text(name)
    with ada.page.expect_file_chooser() as choosing:
        ada.page.get_by_role("button", name="Upload").click()
    choosing.value.set_files([tmp_path / "One.txt", tmp_path / "Two.txt"])
    expect(ada.page.locator(".row")).to_have_count(2)

    for name in ("letters/A.txt", "letters/2026/B.txt", "letters/.hidden/C.txt", "letters/Thumbs.db", "bills/D.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    drop_folder(ada.page, tmp_path / "letters")
    expect(upload_of(ada.page, "letters/2026/B.txt")).to_contain_text("Uploaded")
    expect(ada.page.locator(".row")).to_have_count(4)
    with ada.page.expect_file_chooser() as choosing:
        ada.page.get_by_role("button", name="Add a folder").click()
    choosing.value.set_files(tmp_path / "bills")
    expect(upload_of(ada.page, "bills/D.txt")).to_contain_text("Uploaded")
    expect(ada.page.locator(".row")).to_have_count(5)


def test_dropping_text_is_no_upload(ada: Person) -> None:
    ada.page.evaluate(
        """() => {
          const transfer = new DataTransfer();
          transfer.setData("text/plain", "words");
          for (const type of ["dragover", "drop"])
            document.body.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true}));
        }"""
    )
    expect(ada.page.locator("#drop-here")).to_be_hidden()
    expect(ada.page.locator("#uploads")).to_be_hidden()


def test_what_is_uploaded_at_one_tenant_is_nowhere_at_another(somebody: Callable[..., Person]) -> None:
    at_acme, at_globex = somebody("acme").log_in(), somebody("globex").log_in()
    at_acme.upload(NOTE)
    document = at_acme.document(NOTE.title)

    at_globex.go("/?q=zeppelin")
    expect(at_globex.page.get_by_text("No documents yet")).to_be_visible()
    assert at_globex.go(f"/documents/{document}/") == 404
    at_globex.complaints.clear()  # of the 404
    at_globex.go()
    at_globex.upload(NOTE)
    expect(upload_of(at_globex.page, NOTE.name).locator(".said")).to_have_text("Uploaded")
