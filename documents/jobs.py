"""The jobs that process a document. Safe to run twice, and beside another that does the same."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from documents import originals, recognition, redoing, results, thumbnails, vocabulary
from documents.conf import conf
from documents.exceptions import StorageError
from documents.lifecycle import JOB_TYPE, RECOGNITION_JOB_TYPE, enqueue_recognition
from documents.models import DocumentVersion
from documents.objects import OwnedObject, discard
from documents.processing.child_process import ChildKilled
from documents.processing.examination import Examination, examine, without_file
from documents.processing.findings import Findings, Reason, Step, StepStatus
from documents.states import DocumentStatus, Repeatable
from jobqueue.exceptions import LockLost
from jobqueue.handlers import JobContext, job_handler

_FETCHED, _READ = 10, 90  # percent
# With the queue's delays this is more than an hour: a storage that is away for that long is waited for.
_ATTEMPTS = 20
_NOT_NOW = Step("ocr", StepStatus.FAILED, Reason.UNAVAILABLE, "it could not be done now; try again later")
_STOPPED = {"stopped": "the document was deleted or has a newer version"}


@job_handler(JOB_TYPE, max_attempts=_ATTEMPTS)
def process(context: JobContext) -> dict[str, Any]:
    """Read a version's original, make it searchable, and draw its thumbnail.

    What is wrong with the document is a finding, kept with it; the job succeeds. Only what may pass (storage,
    database, a shutdown) fails the attempt. If it was the last one, the document says so.
    """
    document_id, number = UUID(context.payload["document_id"]), int(context.payload["version"])
    version = results.wanted(document_id, number)
    if version is None:
        return _STOPPED
    if step := context.payload.get("step"):
        return _redo(version, Repeatable(step), context)
    try:
        examined = _examine(version, context)
    except (StorageError, ChildKilled, OSError):
        if results.wanted(document_id, number) is None:
            return _STOPPED
        if _is_last_attempt(context):
            results.give_up(version, context.hold)
        raise
    status = _write(version, examined, context)
    if status is None:
        return _STOPPED
    vocabulary.learn(version)
    return {"status": status.value, "pages": examined.findings.page_count}


def _redo(version: DocumentVersion, step: Repeatable, context: JobContext) -> dict[str, Any]:
    try:
        status = redoing.run(version, step, context)
    except (StorageError, ChildKilled, OSError):
        if results.wanted(version.document_id, version.number) is None:
            return _STOPPED
        if _is_last_attempt(context):
            redoing.give_up(version, step, context)
        raise
    return {"status": status.value} if status else _STOPPED


@job_handler(RECOGNITION_JOB_TYPE, max_attempts=_ATTEMPTS)
def recognise(context: JobContext) -> dict[str, Any]:
    """Recognise the text of a version's pages that have none, and keep the PDF with that text beside the original."""
    document_id, number = UUID(context.payload["document_id"]), int(context.payload["version"])
    version = results.wanted(document_id, number)
    if version is None:
        return _STOPPED
    try:
        status = recognition.run(version, context, anew=bool(context.payload.get("anew")))
    except (StorageError, ChildKilled, OSError):
        if results.wanted(document_id, number) is None:
            return _STOPPED
        if _is_last_attempt(context):
            results.write_step(version, _NOT_NOW, context.hold)
        raise
    if status is None:
        return _STOPPED
    vocabulary.learn(version)
    return {"status": status.value}


def _is_last_attempt(context: JobContext) -> bool:
    return context.job.attempts >= context.job.max_attempts


def _examine(version: DocumentVersion, context: JobContext) -> Examination:
    known = without_file(version.mime_type)
    if known:
        return known
    with originals.fetched(version) as path:
        context.progress(_FETCHED)
        return examine(path, version.mime_type, conf.processing_limits, _reporter(context))


def _write(version: DocumentVersion, examined: Examination, context: JobContext) -> DocumentStatus | None:
    """Store the thumbnail, then write down everything. What can't be stored in the end costs nothing else."""
    if not examined.thumbnail:
        return results.write(version, examined.findings, examined.steps, context.hold, then=_next(version, examined))
    try:
        thumbnail = thumbnails.keep(version, examined.thumbnail)
        return _write_with(thumbnail, version, examined, context)
    except StorageError:
        if _is_last_attempt(context):
            steps = _without_thumbnail(examined.steps)
            results.write(version, examined.findings, steps, context.hold, then=_next(version, examined))
        raise


def _write_with(
    thumbnail: OwnedObject, version: DocumentVersion, examined: Examination, context: JobContext
) -> DocumentStatus | None:
    """Write down everything. If the rows surely don't name the thumbnail, it goes again."""
    try:
        then = _next(version, examined)
        status = results.write(version, examined.findings, examined.steps, context.hold, thumbnail, then)
    except LockLost:
        discard(thumbnail.key)
        raise
    if status is None:
        discard(thumbnail.key)
    return status


def _next(version: DocumentVersion, examined: Examination) -> Callable[[], int] | None:
    """Return what enqueues the recognition of text, if there is some to be recognised.

    A job of its own: when that has to be tried again, what was read is not read again.
    """
    if not (examined.has_scans and conf.ocr_languages):
        return None
    return lambda: enqueue_recognition(version.document_id, version.number)


def _without_thumbnail(steps: list[Step]) -> list[Step]:
    failed = Step("thumbnail", StepStatus.FAILED, Reason.UNAVAILABLE, "it could not be stored now; try again later")
    return [failed if step.name == failed.name else step for step in steps]


def _reporter(context: JobContext) -> Callable[[Findings], None]:
    """Return what tells the queue how far the reading is: at each new percent, and so not at each page."""
    reported = _FETCHED

    def report(findings: Findings) -> None:
        nonlocal reported
        if not findings.page_count:
            return
        percent = _FETCHED + (_READ - _FETCHED) * findings.last_page // findings.page_count
        if percent > reported:
            context.progress(min(percent, _READ))
            reported = percent

    return report
