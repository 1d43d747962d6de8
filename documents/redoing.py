"""Repeating one step of the processing by itself: only its own result changes, and the others stay."""

from documents import originals, results, thumbnails
from documents.conf import conf
from documents.models import DocumentVersion
from documents.objects import OwnedObject, discard
from documents.processing.findings import Reason, Step, StepStatus
from documents.processing.runner import draw
from documents.states import DocumentStatus, Repeatable
from jobqueue.exceptions import LockLost
from jobqueue.handlers import JobContext

_FETCHED = 10  # percent


def run(version: DocumentVersion, step: Repeatable, context: JobContext) -> DocumentStatus | None:
    """Repeat the step ``thumbnail`` or ``index``.

    Raises:
        StorageError, ChildKilled, LockLost

    Returns:
        The document's status now; None if it was deleted meanwhile or has a newer version.
    """
    if step is Repeatable.INDEX:
        return results.write_index(version, context.hold)
    with originals.fetched(version) as path:
        context.progress(_FETCHED)
        drawing = draw(path, version.mime_type, conf.processing_limits)
    if not drawing.image:
        return results.write_step(version, drawing.step(), context.hold)
    kept = thumbnails.keep(version, drawing.image)
    return _write(version, drawing.step(), context, kept)


def give_up(version: DocumentVersion, step: Repeatable, context: JobContext) -> None:
    """Say that the step could not be repeated for a reason outside the document. What there is, stays."""
    unavailable = Step(step, StepStatus.FAILED, Reason.UNAVAILABLE, "it could not be done now; try again later")
    results.write_step(version, unavailable, context.hold)


def _write(version: DocumentVersion, step: Step, context: JobContext, kept: OwnedObject) -> DocumentStatus | None:
    """Write it down. If the row surely doesn't name the thumbnail, it goes again."""
    try:
        status = results.write_thumbnail(version, step, kept, context.hold)
    except LockLost:
        discard(kept.key)
        raise
    if status is None:
        discard(kept.key)
    return status
