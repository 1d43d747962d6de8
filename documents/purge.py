"""Deleting for good what lies in the trash: rows and objects, with an audit entry that stays."""

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now

from documents import audit, objects
from documents.lookup import not_found
from documents.models import Document
from documents.states import AuditAction

logger = logging.getLogger(__name__)

_BATCH = 100


def purge(document_id: UUID, user: User | None) -> None:
    """Delete a document that lies in the trash.

    The rows go first. An object that can't be removed then is an orphan, which the collector removes.

    Raises:
        DocumentNotFound: It isn't in the trash.
    """
    with transaction.atomic():
        trashed = Document.objects.select_for_update().filter(pk=document_id, deleted_at__isnull=False)
        if not _purge(trashed.first(), user):
            raise not_found(document_id)


def purge_older_than(age: timedelta, *, dry_run: bool = False, found: Callable[[Document], None]) -> int:
    """Delete what was moved to the trash of the active tenant longer ago than that; return how many.

    Each in a transaction of its own: one that is restored meanwhile stays.

    Args:
        found: Is told of each, before it goes.
    """
    count, last = 0, UUID(int=0)
    expired = Document.objects.filter(deleted_at__lt=Now() - age).order_by("pk")
    while batch := list(expired.filter(pk__gt=last)[:_BATCH]):
        for document in batch:
            found(document)
            with transaction.atomic():
                count += dry_run or _purge(expired.select_for_update().filter(pk=document.pk).first(), None)
        last = batch[-1].pk
    return count


def _purge(document: Document | None, user: User | None) -> bool:
    if document is None:
        return False
    versions = list(document.versions.all())
    owned = [each.key for version in versions for each in objects.objects_of(version)]
    hashes = [version.sha256 for version in versions]
    audit.record(AuditAction.PURGED, document.pk, user, title=document.title, sha256=hashes)
    document.delete()
    for key in owned:
        transaction.on_commit(partial(objects.discard, key))
    return True
