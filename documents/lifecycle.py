"""Trash, restore and reprocess a document: each verb one transaction, each with its audit entry."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from documents import audit
from documents.conf import conf
from documents.exceptions import InvalidValue
from documents.lookup import locked, not_found
from documents.models import Document
from documents.processing.media_types import can_be_drawn
from documents.states import AuditAction, DocumentStatus, Repeatable
from jobqueue.exceptions import JobNotFound
from jobqueue.queue import Queue

JOB_TYPE = "documents.process"
RECOGNITION_JOB_TYPE = "documents.recognise"
#: A queue of its own, so that workers can be kept free of it. Whatever can be read at once is read before.
RECOGNITION_QUEUE = "ocr"
_RECOGNITION_PRIORITY = -10
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


def reprocess(document_id: UUID, user: User, step: Repeatable | None = None) -> Document:
    """Run the processing, or one step of it, again; if any is running or waiting to, leave it at that.

    Args:
        step: None or ``text``: all steps. What was recognised is not recognised again. Any other: that alone, and
            what the others gave stays.

    Raises:
        DocumentNotFound
        InvalidValue: The step is not for documents of this type, or not done here.
    """
    with transaction.atomic():
        document = locked(document_id)
        version = document.versions.get(is_current=True)
        if step is Repeatable.OCR and not (conf.ocr_languages and can_be_drawn(version.mime_type)):
            said = "Text is recognised in PDF and pictures only, and where that is switched on."
            raise InvalidValue("not_recognised", said)
        if step is Repeatable.THUMBNAIL and not can_be_drawn(version.mime_type):
            raise InvalidValue("not_drawn", "No thumbnail is made of files of this type.")
        if not _is_active(document.job_id):
            document.status = DocumentStatus.PROCESSING
            others = [each for each in document.steps if each["name"] != step]
            document.steps = others if step and step is not Repeatable.TEXT else []
            document.save(update_fields=["status", "steps"])
            audit.record(AuditAction.REPROCESSED, document_id, user, **({"step": step} if step else {}))
            if step is Repeatable.OCR:
                document.job_id = enqueue_recognition(document_id, version.number, anew=True)
                document.save(update_fields=["job_id"])
            else:
                enqueue_processing(document, version.number, step)
    return document


def enqueue_processing(document: Document, number: int, step: Repeatable | None = None) -> None:
    """Enqueue the processing of a version, or one step of it, and note the job. Joins the caller's transaction."""
    payload = {"document_id": str(document.pk), "version": number}
    if step and step is not Repeatable.TEXT:
        payload["step"] = step.value
    job = Queue().enqueue(JOB_TYPE, payload)
    document.job_id = job.pk
    document.save(update_fields=["job_id"])


def enqueue_recognition(document_id: UUID, number: int, *, anew: bool = False) -> int:
    """Enqueue the recognition of a version's text and return the job's id. Joins the caller's transaction.

    Args:
        anew: Also if it was recognised before.
    """
    payload = {"document_id": str(document_id), "version": number, "anew": anew}
    job = Queue().enqueue(RECOGNITION_JOB_TYPE, payload, queue_name=RECOGNITION_QUEUE, priority=_RECOGNITION_PRIORITY)
    return job.pk


def _current_number(document: Document) -> int:
    return document.versions.get(is_current=True).number


def _is_active(job_id: int | None) -> bool:
    if job_id is None:
        return False
    try:
        return Queue().status(job_id) in _ACTIVE
    except JobNotFound:
        return False
