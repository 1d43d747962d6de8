"""Trash, restore and reprocess a document: each verb one transaction, each with its audit entry."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from documents import audit
from documents.lookup import locked, not_found
from documents.models import Document
from documents.states import AuditAction, DocumentStatus
from jobqueue.exceptions import JobNotFound
from jobqueue.queue import Queue

JOB_TYPE = "documents.process"
_ACTIVE = ("pending", "processing")


def trash(document_id: UUID, user: User) -> None:
    """Move a document to the trash. Its original and its text stay.

    Raises:
        DocumentNotFound: Also if it lies there already.
    """
    with transaction.atomic():
        if not Document.objects.filter(pk=document_id, deleted_at=None).update(deleted_at=Now()):
            raise not_found(document_id)
        audit.record(AuditAction.TRASHED, document_id, user)


def restore(document_id: UUID, user: User) -> Document:
    """Take a document out of the trash; one that isn't in it stays as it is.

    Raises:
        DocumentNotFound
    """
    with transaction.atomic():
        restore_if_trashed(document_id, user)
        return locked(document_id)


def restore_if_trashed(document_id: UUID, user: User) -> bool:
    """Take a document out of the trash and return True, or leave it and return False. Joins the caller's transaction.

    A job that finds its document deleted stops, so what wasn't finished begins anew.
    """
    if not Document.objects.filter(pk=document_id, deleted_at__isnull=False).update(deleted_at=None):
        return False
    audit.record(AuditAction.RESTORED, document_id, user)
    document = locked(document_id)
    if document.status == DocumentStatus.PROCESSING:
        enqueue_processing(document, _current_number(document))
    return True


def reprocess(document_id: UUID, user: User) -> Document:
    """Run the processing again; if it is running or waiting to, leave it at that.

    Raises:
        DocumentNotFound
    """
    with transaction.atomic():
        document = locked(document_id)
        if not _is_active(document.job_id):
            document.status = DocumentStatus.PROCESSING
            document.steps = []
            document.save(update_fields=["status", "steps"])
            audit.record(AuditAction.REPROCESSED, document_id, user)
            enqueue_processing(document, _current_number(document))
    return document


def enqueue_processing(document: Document, number: int) -> None:
    """Enqueue the processing of a version and note the job. Joins the caller's transaction."""
    job = Queue().enqueue(JOB_TYPE, {"document_id": str(document.pk), "version": number})
    document.job_id = job.pk
    document.save(update_fields=["job_id"])


def _current_number(document: Document) -> int:
    return document.versions.get(is_current=True).number


def _is_active(job_id: int | None) -> bool:
    if job_id is None:
        return False
    try:
        return Queue().status(job_id) in _ACTIVE
    except JobNotFound:
        return False
