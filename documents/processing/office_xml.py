"""Reading what Word and PowerPoint write: DOCX and PPTX, with or without macros, which nobody here looks at."""

import posixpath
from collections.abc import Iterator

from documents.processing.events import Event
from documents.processing.findings import Reason, Unreadable
from documents.processing.flowing_text import PAGE_BREAK, report
from documents.processing.limits import Limits
from documents.processing.packages import Package
from documents.processing.xml_text import Attributes, Vocabulary, attributes_of, text_of

# One for the text of documents (w:), slides and drawings (a:) and formulas (m:), who share these names. What was
# deleted under tracked changes has other names; what was moved, and what stands in for older programs, stands twice.
_WORDS = Vocabulary(
    text=frozenset({"t"}),
    starts={
        "tab": lambda attributes: "\t",
        "br": lambda attributes: PAGE_BREAK if attributes.get("type") == "page" else "\n",
        "cr": lambda attributes: "\n",
        "noBreakHyphen": lambda attributes: "-",
        # Where a page ended when the document was last laid out.
        "lastRenderedPageBreak": lambda attributes: PAGE_BREAK,
    },
    ends={"p": "\n"},
    skipped=frozenset({"Fallback", "moveFrom", "tabs"}),
)
_BESIDE_THE_TEXT = ["footnotes", "endnotes", "comments", "header*", "footer*"]
_MAIN_PART = "word/document*.xml"
_SLIDES = "ppt/presentation.xml"


def read_docx(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the text: a page where Word had one, and behind them notes, comments, headers and footers."""
    yield from report(_document(path, limits), limits, first_page)


def read_pptx(path: str, limits: Limits, first_page: int = 1) -> Iterator[Event]:
    """Report the text: each slide is a page, with its notes."""
    yield from report(_slides(path, limits), limits, first_page, keep_blank=True)


def drawn_text(package: Package, *patterns: str) -> Iterator[str]:
    """Yield the text of those parts, as of comments and text boxes."""
    for pattern in patterns:
        for name in package.names(pattern):
            yield from text_of(package.open(name), _WORDS)


def _document(path: str, limits: Limits) -> Iterator[str]:
    package = Package(path, limits)
    main = package.names(_MAIN_PART)
    if not main:
        raise Unreadable(Reason.DAMAGED, "the part with its text is missing")
    yield from text_of(package.open(main[0]), _WORDS)
    yield PAGE_BREAK
    yield from drawn_text(package, *(f"word/{part}.xml" for part in _BESIDE_THE_TEXT))


def _slides(path: str, limits: Limits) -> Iterator[str]:
    package = Package(path, limits)
    if not package.has(_SLIDES):
        raise Unreadable(Reason.DAMAGED, "the part that lists its slides is missing")
    related = {found["Id"]: target for found, target in _related(package, _SLIDES)}
    slides = attributes_of(package.open(_SLIDES), "sldId")
    names = [related.get(next((value for key, value in slide.items() if key.endswith(" id")), "")) for slide in slides]
    for number, name in enumerate(names):
        if number:
            yield PAGE_BREAK
        if name and package.has(name):
            yield from text_of(package.open(name), _WORDS)
            yield from _notes(package, name)


def _notes(package: Package, slide: str) -> Iterator[str]:
    for found, target in _related(package, slide):
        if found.get("Type", "").endswith("/notesSlide") and package.has(target):
            yield from text_of(package.open(target), _WORDS)


def _related(package: Package, part: str) -> Iterator[tuple[Attributes, str]]:
    """Yield what a part refers to, each with the name of that part; what lies outside the file is left out."""
    folder, name = posixpath.split(part)
    relations = f"{folder}/_rels/{name}.rels"
    if not package.has(relations):
        return
    for found in attributes_of(package.open(relations), "Relationship"):
        if found.get("TargetMode") != "External" and {"Id", "Target"} <= found.keys():
            yield found, posixpath.normpath(posixpath.join("/", folder, found["Target"])).lstrip("/")
