"""Reading OpenDocument: texts, spreadsheets and presentations, as LibreOffice writes them."""

from collections.abc import Iterator

from documents.processing.events import Event
from documents.processing.findings import Reason, Unreadable
from documents.processing.flowing_text import PAGE_BREAK, report
from documents.processing.limits import Limits
from documents.processing.packages import Package
from documents.processing.xml_text import Attributes, Vocabulary, attributes_of, text_of

_PARAGRAPHS = frozenset({"p", "h"})
_MANIFEST = "META-INF/manifest.xml"
_MOST_BLANKS = 100


def _blanks(attributes: Attributes) -> str:
    count = attributes.get("c", "1")
    return " " * min(int(count), _MOST_BLANKS) if count.isascii() and count.isdigit() and len(count) < 10 else " "


_INSIDE = {
    "s": _blanks,
    "tab": lambda attributes: "\t",
    "line-break": lambda attributes: "\n",
    "soft-page-break": lambda attributes: PAGE_BREAK,
}
_SKIPPED = frozenset({"tracked-changes"})
_TEXT = Vocabulary(_PARAGRAPHS, _INSIDE, {"p": "\n", "h": "\n"}, _SKIPPED)
_SLIDES = Vocabulary(
    _PARAGRAPHS, _INSIDE | {"page": lambda attributes: PAGE_BREAK}, {"p": "\n", "h": "\n"}, frozenset({"master-styles"})
)
_SHEETS = Vocabulary(
    _PARAGRAPHS,
    _INSIDE | {"table": lambda attributes: f"{PAGE_BREAK}{attributes.get('name', '')}\n"},
    {"p": " ", "table-cell": "\t", "table-row": "\n"},
    _SKIPPED,
)


def read_odt(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the text: a page where LibreOffice had one, and behind them headers and footers."""
    yield from report(_parts(path, limits, _TEXT, ["content.xml", "styles.xml"]), limits, first_page)


def read_ods(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report what the cells show: each sheet begins a page, with its name."""
    yield from report(_parts(path, limits, _SHEETS, ["content.xml"]), limits, first_page)


def read_odp(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the text: each slide is a page, with its notes."""
    slides = _without_first_break(_parts(path, limits, _SLIDES, ["content.xml"]))
    yield from report(slides, limits, first_page, keep_blank=True)


def _parts(path: str, limits: Limits, vocabulary: Vocabulary, names: list[str]) -> Iterator[str]:
    package = Package(path, limits)
    if package.has(_MANIFEST) and attributes_of(package.open(_MANIFEST), "encryption-data"):
        raise Unreadable(Reason.LOCKED, "a password is needed to open it")
    if not package.has(names[0]):
        raise Unreadable(Reason.DAMAGED, "the part with its text is missing")
    for name in names:
        if package.has(name):
            yield from text_of(package.open(name), vocabulary)
            yield PAGE_BREAK if name != names[-1] else ""


def _without_first_break(fragments: Iterator[str]) -> Iterator[str]:
    started = False
    for fragment in fragments:
        yield fragment if started else fragment.lstrip("\n").removeprefix(PAGE_BREAK)
        started = started or bool(fragment)
