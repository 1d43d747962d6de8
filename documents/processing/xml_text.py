"""The text between the tags of an XML part, while it streams by: no tree, no entities, nothing from elsewhere.

Office programs declare no document type, and so no entities. A part that does is refused, which leaves nothing to
expand and nothing to fetch.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO
from xml.parsers import expat

from documents.processing.findings import Reason, Unreadable
from documents.processing.packages import container_errors

_CHUNK_BYTES = 64 * 1024
_SEPARATOR = " "  # between namespace and name; no URI has one

Attributes = dict[str, str]


@dataclass(frozen=True)
class Vocabulary:
    """What the elements of a kind of XML mean to its text, by their names without namespaces."""

    #: Elements in which characters are text; elsewhere they are not.
    text: frozenset[str]
    #: What stands for the beginning, or the end, of an element.
    starts: dict[str, Callable[[Attributes], str]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    #: Elements that are passed over with all that is in them.
    skipped: frozenset[str] = frozenset()


def text_of(part: IO[bytes], vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the text of a part in fragments, without empty lines and cells.

    Raises:
        Unreadable: The XML is broken. What came before was yielded.
    """
    walker = _Walker(vocabulary)
    parser = _parser()
    parser.StartElementHandler = walker.start
    parser.EndElementHandler = walker.end
    parser.CharacterDataHandler = walker.characters
    try:
        for _ in _parsed(parser, part):
            yield walker.taken()
    except Unreadable:
        yield walker.taken()
        raise
    yield walker.taken()


def attributes_of(part: IO[bytes], element: str) -> list[Attributes]:
    """Return the attributes of each element of a name; their names are with namespaces, after a blank.

    Raises:
        Unreadable: The XML is broken.
    """
    found: list[Attributes] = []

    def start(name: str, attributes: Attributes) -> None:
        if _local(name) == element:
            found.append(attributes)

    parser = _parser()
    parser.StartElementHandler = start
    for _ in _parsed(parser, part):
        pass
    return found


class _Walker:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary
        self._kept: list[str] = []
        self._last = "\n"
        self._text_depth = 0
        self._skipped_depth = 0

    def start(self, name: str, attributes: Attributes) -> None:
        name = _local(name)
        if self._skipped_depth or name in self._words.skipped:
            self._skipped_depth += 1
            return
        self._text_depth += name in self._words.text
        if mark := self._words.starts.get(name):
            self._add(mark({_local(key): value for key, value in attributes.items()}))

    def end(self, name: str) -> None:
        if self._skipped_depth:
            self._skipped_depth -= 1
            return
        name = _local(name)
        self._text_depth -= name in self._words.text
        self._add(self._words.ends.get(name, ""))

    def characters(self, text: str) -> None:
        if self._text_depth and not self._skipped_depth:
            self._add(text)

    def taken(self) -> str:
        taken = "".join(self._kept)
        self._kept.clear()
        return taken

    def _add(self, piece: str) -> None:
        # Cells and paragraphs without text would be lines of nothing, thousands of them in a table.
        repeats = piece in ("\t", "\n") and (self._last in "\n\f" or self._last == piece)
        if piece and not repeats:
            self._kept.append(piece)
            self._last = piece[-1]


def _parser() -> expat.XMLParserType:
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    return parser


def _refuse(*declaration: object) -> None:
    raise Unreadable(Reason.DAMAGED, "its XML declares entities, which no office program does")


def _parsed(parser: expat.XMLParserType, part: IO[bytes]) -> Iterator[None]:
    """Parse a part, and yield after each chunk."""
    try:
        while True:
            with container_errors():
                chunk = part.read(_CHUNK_BYTES)
            parser.Parse(chunk, not chunk)
            if not chunk:
                return
            yield
    except expat.ExpatError as error:
        raise Unreadable(Reason.DAMAGED, f"its XML is broken: {error}") from error


def _local(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]
