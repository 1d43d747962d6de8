"""Reading HTML: what a browser would show of it. Nothing is fetched, and no script runs."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from documents.processing.events import Event
from documents.processing.findings import Reason, Unreadable
from documents.processing.flowing_text import report
from documents.processing.limits import Limits
from documents.processing.plain_text import decoded_file

_UNSEEN = {"script", "style"}
# Elements within a line; any other begins a new one.
_INLINE = {
    *("a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label"),
    *("mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"),
}
_CELLS = {"td", "th"}
_BLANKS = re.compile(r"\s+")


def read_html(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the text of a page, its title first."""
    text, encoding, is_whole = decoded_file(path, limits)
    yield from report(_fragments(text, is_whole=is_whole), limits, first_page, detail=encoding)


def _fragments(text: str, *, is_whole: bool) -> Iterator[str]:
    yield text_of_html(text)
    if not is_whole:
        raise Unreadable(Reason.TOO_LARGE, "the page is longer than is read; its end is not searchable")


def text_of_html(markup: str) -> str:
    """Return what would be seen, a line for each block, with the texts that stand for pictures."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    lines = (_BLANKS.sub(" ", line).strip() for line in "".join(reader.kept).split("\n"))
    return "\n".join(filter(None, lines))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.kept: list[str] = []
        self._unseen = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN:
            self._unseen = tag
        elif tag == "img":
            self.kept.append(f" {dict(attrs).get('alt') or ''} ")
        else:
            self._divide(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == self._unseen:
            self._unseen = ""
        else:
            self._divide(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self.kept.append(data.replace("\n", " "))

    def _divide(self, tag: str) -> None:
        if tag in _CELLS:
            self.kept.append("\t")
        elif tag not in _INLINE:
            self.kept.append("\n")
