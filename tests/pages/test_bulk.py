"""Several documents at once, in a browser."""

from zipfile import ZipFile

from django.contrib.auth.models import User
from playwright.sync_api import expect

from dms_project.tenancy import use
from documents.roles import Role, set_role
from tests.pages.people import File, Person
from tests.pages.test_accessible import complaints

FILES = [File(f"Note {number}.txt", f"zeppelin {number}".encode()) for number in range(3)]


def test_what_is_selected_is_tagged_downloaded_trashed_and_restored(ada: Person) -> None:
    page = ada.page
    ada.upload(*FILES)
    ada.go()
    bar = page.get_by_role("form", name="Selected documents")
    expect(bar).to_be_hidden()
    page.get_by_label("Select: Note 0").check()
    expect(bar).to_contain_text("1 selected")
    bar.get_by_role("button", name="Select all on this page").click()
    expect(bar).to_contain_text("3 selected")
    assert complaints(page) == []
    with page.expect_download() as downloading:
        bar.get_by_role("button", name="Download as ZIP").click()
    with ZipFile(downloading.value.path()) as archive:
        assert sorted(archive.namelist()) == [file.name for file in FILES]
    bar.get_by_label("Tags to add").fill("airship, 1900")
    bar.get_by_role("button", name="Tag", exact=True).click()
    expect(page.get_by_text("3 documents tagged.")).to_be_visible()

    ada.row("Note 1").get_by_role("link", name="airship").click()
    expect(page.get_by_role("link", name="Remove the filter Tag: airship")).to_be_visible()
    page.get_by_label("Select: Note 1").check()
    page.get_by_label("Select: Note 2").check()
    bar.get_by_role("button", name="Move to trash").click()
    expect(page.get_by_text("2 documents are in the trash.")).to_be_visible()
    assert "tag=airship" in page.url
    expect(page.locator(".row")).to_have_count(1)

    ada.go("/trash/")
    page.get_by_label("Select: Note 2").check()
    bar.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("1 document is back.")).to_be_visible()
    expect(page.locator(".row")).to_have_count(1)
    ada.go("/labels/")
    page.get_by_label("New name of airship").fill("zeppelin")
    page.get_by_role("button", name="Rename airship").click()
    expect(page.get_by_text("“zeppelin” is the name now, of 3 documents.")).to_be_visible()
    assert complaints(page) == []
    with use("acme"):
        set_role(User.objects.get(), Role.READER)
    ada.go()
    page.get_by_label("Select: Note 0").check()
    expect(bar.get_by_role("button")).to_have_count(2)
    with page.expect_download() as downloading:
        bar.get_by_role("button", name="Download as ZIP").click()
    assert "csrf" not in downloading.value.url
