"""Somebody in front of a browser."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect

from tests.pages.site import Site

PASSWORD = "correct horse battery staple"

# Dropping what a script holds is what dropping from the desktop comes to.
_DROP = """
(files) => {
  const transfer = new DataTransfer();
  for (const [name, base64] of files) {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    transfer.items.add(new File([bytes], name));
  }
  for (const type of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(type, {dataTransfer: transfer, bubbles: true, cancelable: true}));
}
"""


@dataclass
class File:
    """A file on somebody's desktop."""

    name: str
    content: bytes

    @property
    def title(self) -> str:
        """What the document is called at first: the name without its ending."""
        return Path(self.name).stem

    @classmethod
    def of(cls, path: Path) -> "File":
        return cls(path.name, path.read_bytes())


class Person:
    """A user of a tenant, with a browser of their own that notes every complaint of its console."""

    def __init__(self, browser: Browser, site: Site, tenant: str, **options: Any) -> None:
        self.site = site
        self.tenant = tenant
        self.complaints: list[str] = []
        self.context: BrowserContext = browser.new_context(**{"locale": "en-GB", "reduced_motion": "reduce"} | options)
        self.context.set_default_timeout(10_000)
        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.page: Page = self.context.new_page()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def go(self, path: str = "/", tenant: str = "") -> int:
        """Open a page and return the HTTP status."""
        response = self.page.goto(self.site.url(tenant or self.tenant, path))
        assert response is not None
        return response.status

    def log_in(self, name: str = "ada", password: str = PASSWORD) -> "Person":
        self.go("/login/")
        self.page.fill("#id_username", name)
        self.page.fill("#id_password", password)
        with self.page.expect_navigation():
            self.page.click("form.card button")
        return self

    def drop(self, files: Iterable[File]) -> None:
        import base64

        self.page.evaluate(_DROP, [[file.name, base64.b64encode(file.content).decode()] for file in files])

    def upload(self, *files: File) -> None:
        """Drop files and wait until each has been taken in or refused, or has failed."""
        before = self.page.locator("#uploads li").count()
        self.drop(files)
        expect(self.page.locator("#uploads li")).to_have_count(before + len(files))
        expect(self.page.locator("#uploads [data-close]")).to_be_visible(timeout=30_000)

    def row(self, title: str) -> Locator:
        return self.page.locator(".row", has=self.page.get_by_text(title, exact=True))

    def document(self, title: str) -> str:
        """Open a document from the list and return its id."""
        self.page.get_by_role("link", name=title, exact=True).click()
        self.page.wait_for_url("**/documents/*/**")
        return self.page.url.split("/documents/")[1].split("/")[0]
