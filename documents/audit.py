"""Writing down what happens."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User

from documents.models import AuditEntry
from documents.states import AuditAction


def record(action: AuditAction, document_id: UUID, actor: User | None, **details: Any) -> None:
    """Write an audit entry. Call it in the transaction of the change itself.

    Args:
        actor: None: the system.
        details: Small JSON.
    """
    AuditEntry.objects.create(
        action=action,
        document_id=document_id,
        actor_id=actor.pk if actor else None,
        actor_name=actor.get_username() if actor else "",
        details=details,
    )
