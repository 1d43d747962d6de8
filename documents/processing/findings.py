"""What became of reading and drawing a document: its pages, its thumbnail, and each step with how it ended."""

from base64 import b64decode
from dataclasses import dataclass, field
from enum import StrEnum

from documents.processing.events import Drawn, Event, NotDrawn, Opened, PageRead, Refused, Stopped


class StepStatus(StrEnum):
    """How a step ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


class Reason(StrEnum):
    """Why a step failed, was skipped or is incomplete."""

    LOCKED = "locked"
    DAMAGED = "damaged"
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    NO_TEXT = "no_text"
    UNAVAILABLE = "unavailable"
    TOOL_MISSING = "tool_missing"


class Unreadable(Exception):
    """A document, or the rest of it, can't be read. ``detail`` is for people."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Step:
    """One step of the processing. ``detail`` is for people; both may be empty.

    ``ended_at`` (ISO 8601) and ``job_id`` are known once it is written down: which job did it, and when.
    """

    name: str
    status: StepStatus
    reason: str = ""
    detail: str = ""
    ended_at: str = ""
    job_id: int | None = None


@dataclass(frozen=True)
class Page:
    """A page with its text, which may be empty."""

    number: int
    text: str


@dataclass(frozen=True)
class Drawing:
    """What became of drawing a thumbnail: the image, or the reason why there is none. ``detail`` is for people."""

    image: bytes = b""
    reason: str = ""
    detail: str = ""

    def step(self) -> Step:
        """Return the step ``thumbnail`` of a document that was read by itself."""
        if self.image:
            return Step("thumbnail", StepStatus.DONE)
        return Step("thumbnail", StepStatus.FAILED, self.reason, self.detail)

    def steps_of_picture(self) -> list[Step]:
        """Return the steps of a picture: to open it is to decode it, which is all that drawing a thumbnail takes."""
        if not self.image:
            inspect = Step("inspect", StepStatus.FAILED, self.reason, self.detail)
            return [inspect, Step("text", StepStatus.SKIPPED, self.reason), no_thumbnail(self.reason)]
        no_text = Step("text", StepStatus.SKIPPED, Reason.NO_TEXT, "a picture")
        return [Step("inspect", StepStatus.DONE, detail=self.detail), no_text, self.step()]


@dataclass
class Findings:
    """Grows by the events of the child process; ``steps()`` draws the conclusion."""

    page_count: int | None = None
    pages: list[Page] = field(default_factory=list)
    #: None if nothing was drawn, nor said why.
    drawing: Drawing | None = None
    #: Whether there are pages without text that are pictures.
    has_scans: bool = False
    _detail: str = ""
    _refused: Refused | None = None
    _stopped: Stopped | None = None
    _broke_off: Stopped | None = None
    _unreadable: int = 0
    _dropped: int = 0

    @property
    def last_page(self) -> int:
        """How far the reading came, unreadable pages included; 0 before the first."""
        return len(self.pages) + self._unreadable

    @property
    def is_read(self) -> bool:
        """Whether no page is left to read."""
        return self._stopped is not None or self.last_page == self.page_count

    @property
    def refusal(self) -> Refused | None:
        """Why the document can't be opened; None if it can."""
        return self._refused

    @property
    def has_begun(self) -> bool:
        """Whether anything is known about the document yet."""
        return self.page_count is not None or self._refused is not None

    def add(self, event: Event) -> None:
        """Take note of what the child process reports."""
        match event:
            case Opened():
                self.page_count, self._detail = event.page_count, event.detail
            case Refused():
                self._refused = event
            case Stopped():
                self._stopped = event
            case Drawn():
                self.drawing = Drawing(b64decode(event.image, validate=True), detail=event.detail)
            case NotDrawn():
                self.drawing = Drawing(reason=event.reason, detail=event.detail)
            case PageRead(text=None):
                self._unreadable += 1
            case PageRead():
                self.pages.append(Page(event.number, str(event.text)))
                self._dropped += event.dropped
                self.has_scans |= event.scanned

    def break_off(self, reason: Reason, detail: str) -> None:
        """Take note that the child process ended before its time."""
        if self.page_count is None:
            self._refused = Refused(reason, detail)
        else:
            self._broke_off = Stopped(reason, detail)

    def pass_over_page(self) -> None:
        """Take note that the next page is one that the parser does not survive."""
        self._unreadable += 1

    def steps(self) -> list[Step]:
        """Return the steps ``inspect`` and ``text``."""
        if self._refused:
            reason, detail = self._refused.reason, self._refused.detail
            return [Step("inspect", StepStatus.FAILED, reason, detail), Step("text", StepStatus.SKIPPED, reason)]
        return [Step("inspect", StepStatus.DONE, detail=self._inspect_detail()), self._text_step()]

    def _inspect_detail(self) -> str:
        return "; ".join(filter(None, [_count(self.page_count or 0, "page"), self._detail]))

    def _text_step(self) -> Step:
        notes = []
        if self._unreadable:
            notes.append(f"{_count(self._unreadable, 'page')} unreadable")
        if self._stopped:
            notes.append(self._stopped.detail)
        if self._dropped:
            notes.append(f"{_count(self._dropped, 'character')} without meaning left out")
        if self._broke_off:
            notes.append(f"{self._broke_off.detail} after page {self.last_page} of {self.page_count}")
            return Step("text", StepStatus.FAILED, self._broke_off.reason, "; ".join(notes))
        if self._unreadable and not self.pages:
            return Step("text", StepStatus.FAILED, Reason.DAMAGED, "; ".join(notes))
        if not any(page.text for page in self.pages):
            notes.insert(0, "no page has text")
            return Step("text", StepStatus.DONE, Reason.NO_TEXT, "; ".join(notes))
        reason = self._stopped.reason if self._stopped else Reason.DAMAGED if self._unreadable else ""
        return Step("text", StepStatus.DONE, reason, "; ".join(notes))


def no_thumbnail(reason: str, detail: str = "") -> Step:
    """Return the step ``thumbnail`` of a document of which none can be drawn anyway."""
    return Step("thumbnail", StepStatus.SKIPPED, reason, detail)


def unsupported(mime_type: str) -> list[Step]:
    """Return the steps of a document of a type that nothing here can read or draw."""
    detail = f"text can't be read from {mime_type}"
    skipped = [Step(name, StepStatus.SKIPPED, Reason.UNSUPPORTED, detail) for name in ("inspect", "text")]
    return [*skipped, no_thumbnail(Reason.UNSUPPORTED, detail)]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
