"""What the child process reports while it reads, one JSON object a line.

ASCII only: a line break, a lone surrogate or a NUL in a document's text can't break the framing.
"""

import json
from dataclasses import asdict, dataclass
from typing import get_args


@dataclass(frozen=True)
class Opened:
    """The document could be opened. ``detail`` is for people and may be empty."""

    page_count: int
    detail: str = ""


@dataclass(frozen=True)
class Refused:
    """The document can't be read at all."""

    reason: str
    detail: str


@dataclass(frozen=True)
class PageRead:
    """The text of a page, already clean; None if this page can't be read. ``dropped`` counts characters left out.

    ``scanned``: there is no text, but a picture in which some may be.
    """

    number: int
    text: str | None
    dropped: int = 0
    scanned: bool = False


@dataclass(frozen=True)
class Stopped:
    """The rest is left unread."""

    reason: str
    detail: str


@dataclass(frozen=True)
class Drawn:
    """The thumbnail, in Base64. ``detail`` is about the document, for people, and may be empty."""

    image: str
    detail: str = ""


@dataclass(frozen=True)
class NotDrawn:
    """There is no thumbnail."""

    reason: str
    detail: str


@dataclass(frozen=True)
class Recognising:
    """So many pages, of so many, have been looked at."""

    done: int
    total: int


@dataclass(frozen=True)
class Recognised:
    """The archive version is written."""


@dataclass(frozen=True)
class Unlocked:
    """The copy without a password is written."""


Event = Opened | Refused | PageRead | Stopped | Drawn | NotDrawn | Recognising | Recognised | Unlocked
_KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}


def to_line(event: Event) -> str:
    """Return the event as one line, without its line break."""
    return json.dumps({"event": type(event).__name__, **asdict(event)})


def from_line(line: bytes) -> Event:
    """Return the event that a line stands for.

    Raises:
        ValueError, KeyError, TypeError: The line isn't one of ours.
    """
    fields = json.loads(line)
    return _KINDS[fields.pop("event")](**fields)
