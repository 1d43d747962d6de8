"""Recognising the text of a version: the archive version is stored, and its text becomes the document's."""

from dataclasses import replace

from documents import archives, originals, results
from documents.conf import conf
from documents.models import DocumentVersion
from documents.objects import OwnedObject, discard
from documents.processing.findings import Findings, Reason, Unreadable
from documents.processing.media_types import PDF
from documents.processing.ocr import recognised, step_of, tool_is_missing
from documents.processing.runner import read
from documents.states import DocumentStatus
from jobqueue.exceptions import LockLost
from jobqueue.handlers import JobContext

_FETCHED, _RECOGNISED = 10, 90  # percent


def run(version: DocumentVersion, context: JobContext, *, anew: bool) -> DocumentStatus | None:
    """Recognise the text of the pages that have none, and write it down.

    Args:
        anew: False: what an earlier run has recognised is good enough, and only read.

    Raises:
        StorageError, ChildKilled, LockLost

    Returns:
        The document's status now; None if it was deleted meanwhile or has a newer version.
    """
    present = archives.archive_of(version)
    try:
        if present and not anew:
            with originals.fetched_object(present) as path:
                return results.write_recognition(version, read(path, PDF, conf.processing_limits), context.hold)
        if tool_is_missing():
            raise Unreadable(Reason.TOOL_MISSING, "tesseract is not installed where this was tried")
        return _recognise(version, context)
    except Unreadable as error:
        return results.write_step(version, step_of(error), context.hold)


def _recognise(version: DocumentVersion, context: JobContext) -> DocumentStatus | None:
    limits = replace(conf.processing_limits, seconds=conf.ocr_seconds)

    def report(done: int, total: int) -> None:
        context.progress(_FETCHED + (_RECOGNISED - _FETCHED) * done // max(total, 1))

    with originals.fetched(version) as path:
        context.progress(_FETCHED)
        with recognised(path, version.mime_type, limits, conf.ocr_languages, report) as archive:
            found = archive.findings
            if found.refusal:
                raise Unreadable(Reason.DAMAGED, f"the archive version can't be read: {found.refusal.detail}")
            kept = archives.keep(version, archive.path) if any(page.text for page in found.pages) else None
    return _write(version, found, context, kept)


def _write(
    version: DocumentVersion, found: Findings, context: JobContext, kept: OwnedObject | None
) -> DocumentStatus | None:
    """Write down everything. If the rows surely don't name the archive version, it goes again."""
    try:
        status = results.write_recognition(version, found, context.hold, kept)
    except LockLost:
        if kept:
            discard(kept.key)
        raise
    if status is None and kept:
        discard(kept.key)
    return status
