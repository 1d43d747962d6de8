"""Names, titles and contents that want to run something in somebody's session."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.pages.people import File, Person

MARK = "window.ranHere = true"
MARKUP = f"<img src=x onerror='{MARK}'><script>{MARK}</script>"
CONTENTS = {
    "page.html": f"<!doctype html><title>x</title><script>{MARK}; document.cookie = 'ran=1'</script>",
    "drawing.svg": f"<svg xmlns='http://www.w3.org/2000/svg' onload='{MARK}'><script>{MARK}</script></svg>",
    "other page.xhtml": f"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><script>{MARK}</script></html>",
    "note.txt": f"<script>document.cookie = 'ran=1'</script> zeppelin {MARKUP}",
    "report.pdf": f"%PDF-1.4\n<script>{MARK}</script>",
}
NAMES = [
    f"{MARKUP}.txt",
    'quote".txt',
    "semicolon; filename=evil.html.txt",
    "comma, name.txt",
    "umlaut äöü ß.txt",
    "emoji 🗝.txt",
    "right to left \u202egnp.txt",
    "percent %0d%0a%22.txt",
    "x" * 240 + ".txt",
    "...",
]


def test_what_is_in_a_file_runs_nowhere(worker: None, ada: Person) -> None:
    page = ada.page
    ada.upload(*[File(name, content.encode()) for name, content in CONTENTS.items()])
    expect(page.locator(".row")).to_have_count(len(CONTENTS))
    expect(page.locator(".chip.waiting, .chip.reading")).to_have_count(0, timeout=30_000)

    ada.go("/?q=zeppelin")
    expect(page.locator(".row")).to_have_count(1)
    for name in CONTENTS:
        ada.go()
        document = ada.document(Path(name).stem)
        for url in (f"/documents/{document}/download", f"/api/documents/{document}/download"):
            with page.expect_download() as downloading:
                page.evaluate("(url) => { location = url }", url)
            assert downloading.value.suggested_filename == name
        assert page.evaluate("window.ranHere") is None
    assert not [cookie for cookie in ada.context.cookies() if cookie["name"] == "ran"]


def test_names_and_titles_are_only_words(ada: Person) -> None:
    page = ada.page
    ada.upload(*[File(name, f"content {number}".encode()) for number, name in enumerate(NAMES)])
    expect(page.locator("#uploads li.stored")).to_have_count(len(NAMES))
    page.click("[data-close]")
    expect(page.locator(".row")).to_have_count(len(NAMES))

    for link in [link.get_attribute("href") for link in page.locator(".row a.title").all()]:
        ada.go(link)
        shown = page.locator("h1").inner_text()
        with page.expect_download() as downloading:
            page.get_by_role("link", name="Download").click()
        saved = downloading.value.suggested_filename
        assert saved
        assert "/" not in saved
        assert "\u202e" not in shown
        assert page.evaluate("window.ranHere") is None


@pytest.mark.parametrize("title", [MARKUP, "\" onfocus='x' autofocus='", "{{ 7 * 7 }} {% now %}", "<b>bold</b>"])
def test_a_title_is_shown_as_it_was_typed(title: str, ada: Person) -> None:
    page = ada.page
    ada.upload(File("note.txt", b"note"))
    ada.document("note")
    page.get_by_text("Edit", exact=True).click()
    page.get_by_label("Title", exact=True).fill(title)
    page.get_by_role("button", name="Save").click()

    expect(page.locator("h1")).to_have_text(title)
    expect(page.locator("#about")).to_contain_text(title)
    page.get_by_role("button", name="Move to trash").click()
    expect(page.locator(".message")).to_contain_text(title)
    ada.go("/trash/")
    expect(page.locator(".title")).to_have_text(title)
    assert page.evaluate("window.ranHere") is None
