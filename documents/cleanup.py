"""What lies outside the database when a tenant goes."""

import logging

from django.dispatch import receiver

from dms_project.tenancy.schemas import tenant_deleted
from documents.exceptions import StorageError
from documents.storage import object_store

logger = logging.getLogger(__name__)


@receiver(tenant_deleted, dispatch_uid="documents.cleanup")
def delete_objects(*, schema_name: str, **kwargs: object) -> None:
    """Delete the objects of a tenant that is gone. What the store can't delete now is an orphan."""
    try:
        object_store().delete_tenant(schema_name)
    except StorageError as error:
        logger.warning("Objects of the deleted tenant %s remain, for the collector: %s", schema_name, error)
