"""The steps of a document's processing, as its page lists them: those that ended, and those that are awaited."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.utils.dateparse import parse_datetime

from documents.conf import conf
from documents.lifecycle import RECOGNITION_JOB_TYPE
from documents.models import Document, DocumentVersion
from documents.pages.states import State
from documents.pages.words import REPEATS, STEP_ENDINGS, STEPS, Problem, Words, problem
from documents.processing.media_types import can_be_drawn
from documents.states import STEP_NAMES, Repeatable

# Percent of a job: where the text begins to be read, and where it ends.
_TEXT_FROM, _TEXT_TO = 10, 90


@dataclass(frozen=True)
class ShownStep:
    """``repeat``: its name if it may be repeated now, and ``repeats``: what the button says."""

    name: Words
    ending: Words
    status: str
    problem: Problem | None = None
    detail: str = ""
    ended_at: datetime | None = None
    percent: int | None = None
    repeat: str = ""
    repeats: Words = ""


def steps_of(version: DocumentVersion, state: State) -> list[ShownStep]:
    """Return the steps in their order; a reason that several share is told once."""
    shown = {step["name"]: each for step, each in _ended(version, state)}
    if state.active:
        shown |= _awaited(version.document, state)
    return [shown[name] for name in sorted(shown, key=STEP_NAMES.index)]


def _ended(version: DocumentVersion, state: State) -> Iterator[tuple[dict[str, str], ShownStep]]:
    told = {""}
    for step in version.document.steps:
        name, reason, detail = step["name"], step["reason"], step["detail"]
        repeat = name if name in _repeatable(version) and not state.active else ""
        yield (
            step,
            ShownStep(
                STEPS.get(name, name),
                STEP_ENDINGS.get(step["status"], ""),
                step["status"],
                problem=None if reason in told else problem(reason, name),
                detail="" if detail in told else detail,
                ended_at=parse_datetime(step.get("ended_at") or ""),
                repeat=repeat,
                repeats=REPEATS.get(name, ""),
            ),
        )
        told |= {reason, detail}


def _repeatable(version: DocumentVersion) -> set[str]:
    drawn = can_be_drawn(version.mime_type)
    steps = {Repeatable.TEXT, Repeatable.INDEX} if version.page_count else {Repeatable.TEXT}
    return {str(each) for each in steps | ({Repeatable.THUMBNAIL} if drawn else set())} | (
        {"ocr"} if drawn and conf.ocr_languages else set()
    )


def _awaited(document: Document, state: State) -> dict[str, ShownStep]:
    ended = {step["name"] for step in document.steps}
    recognises = state.job_type == RECOGNITION_JOB_TYPE
    names = [name for name in STEP_NAMES if name not in ended and (name == "ocr") == recognises]
    running = _running(names, state.percent or 0) if state.kind == "reading" else ""
    return {
        name: ShownStep(
            STEPS[name],
            STEP_ENDINGS["running" if name == running else "waiting"],
            "running" if name == running else "waiting",
            percent=state.percent if name == running else None,
        )
        for name in names
    }


def _running(names: list[str], percent: int) -> str:
    """Return which of the steps a job is at: of one that does them all, its progress tells."""
    if len(names) < 2:
        return names[0] if names else ""
    likely = "inspect" if percent <= _TEXT_FROM else "text" if percent < _TEXT_TO else "thumbnail"
    return likely if likely in names else names[0]
