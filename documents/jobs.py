"""The job that processes a document. Safe to run twice, and beside another that does the same."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from documents import results
from documents.conf import conf
from documents.exceptions import StorageError
from documents.lifecycle import JOB_TYPE
from documents.models import DocumentVersion
from documents.processing.findings import Findings, Step, unsupported
from documents.processing.media_types import can_be_read
from documents.processing.runner import ChildKilled, read
from documents.storage import object_store
from jobqueue.handlers import JobContext, job_handler

_FETCHED, _READ = 10, 90  # percent


@job_handler(JOB_TYPE)
def process(context: JobContext) -> dict[str, Any]:
    """Read a version's original and make it searchable.

    What is wrong with the document is a finding, kept with it; the job succeeds. Only what may pass (storage,
    database, a shutdown) fails the attempt. If it was the last one, the document says so.
    """
    document_id, number = UUID(context.payload["document_id"]), int(context.payload["version"])
    version = results.wanted(document_id, number)
    if version is None:
        return {"stopped": "the document was deleted or has a newer version"}
    try:
        findings, steps = _read(version, context)
    except (StorageError, ChildKilled, OSError):
        if context.job.attempts >= context.job.max_attempts:
            results.give_up(version, context.hold)
        raise
    status = results.write(version, findings, steps, context.hold)
    if status is None:
        return {"stopped": "the document was deleted or has a newer version"}
    return {"status": status.value, "pages": findings.page_count}


def _read(version: DocumentVersion, context: JobContext) -> tuple[Findings, list[Step]]:
    if not can_be_read(version.mime_type):
        return Findings(), unsupported(version.mime_type)
    with _original(version) as path:
        context.progress(_FETCHED)
        findings = read(path, version.mime_type, conf.processing_limits, _reporter(context))
    return findings, findings.steps()


@contextlib.contextmanager
def _original(version: DocumentVersion) -> Iterator[str]:
    """Have the original, whole and as it was uploaded, in a file without a name: it can't outlive the process."""
    with tempfile.TemporaryFile() as file:
        object_store().fetch(version.storage_key, file, sha256=version.sha256, size_bytes=version.size_bytes)
        yield f"/dev/fd/{file.fileno()}"


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
