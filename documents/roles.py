"""What a user may do with a tenant's documents: by the groups that the user is in.

A superuser is an admin. Whoever is in none of the groups has the role that ``DMS_DEFAULT_ROLE`` names.
"""

from django.contrib.auth.models import AnonymousUser, Group, User
from django.db import transaction
from django.db.models import TextChoices

from documents.conf import conf
from documents.exceptions import NotAllowed


class Role(TextChoices):
    """From least to most. Each may do what those before it may. The values are the names of the groups."""

    READER = "reader", "reader"
    EDITOR = "editor", "editor"
    ADMIN = "admin", "admin"

    @property
    def can_edit(self) -> bool:
        """Say whether it may upload, change, trash and restore documents."""
        return self is not Role.READER

    @property
    def can_purge(self) -> bool:
        """Say whether it may delete documents for good."""
        return self is Role.ADMIN


def role_of(user: User | AnonymousUser) -> Role:
    """Return the highest role of the active tenant that a user has. One statement."""
    if user.is_superuser:
        return Role.ADMIN
    names = set(user.groups.filter(name__in=Role.values).values_list("name", flat=True))
    held = [role for role in Role if role.value in names]
    return held[-1] if held else Role(conf.default_role)


def require_edit(role: Role) -> None:
    """Raise ``NotAllowed`` unless the role may change documents."""
    if not role.can_edit:
        raise NotAllowed("You may read the documents here, and not change them.")


def require_purge(role: Role) -> None:
    """Raise ``NotAllowed`` unless the role may delete documents for good."""
    if not role.can_purge:
        raise NotAllowed("Only an admin may delete documents for good.")


def set_role(user: User, role: Role) -> None:
    """Give a user a role instead of any other."""
    with transaction.atomic():
        group, _ = Group.objects.get_or_create(name=role.value)
        user.groups.remove(*Group.objects.filter(name__in=Role.values).exclude(pk=group.pk))
        user.groups.add(group)
