"""Caches that outlive a tenant's block, keyed by tenant."""

from typing import Any
from weakref import WeakSet

from django.contrib.contenttypes.models import ContentType, ContentTypeManager

from dms_project.tenancy.context import current

MAX_TENANTS = 500

_managers: "WeakSet[ContentTypeManager]" = WeakSet()


def cache_key(key: str, key_prefix: str, version: int) -> str:
    """Make the keys of Django's cache framework, as ``KEY_FUNCTION`` of each entry in ``CACHES``."""
    return f"{current()}:{key_prefix}:{version}:{key}"


class PerTenant:
    """A manager's ``_cache``, one dictionary for each tenant.

    Ids of content types differ between tenants, and Django keeps them by database alias for the process's life. On the
    class, not on one manager: migrations make managers of their own.
    """

    def __get__(self, manager: ContentTypeManager, owner: type | None = None) -> dict[str, Any]:
        caches: dict[str, dict[str, Any]] = manager.__dict__["_caches"]
        if len(caches) > MAX_TENANTS:
            caches.clear()
        return caches.setdefault(current(), {})

    def __set__(self, manager: ContentTypeManager, cache: dict[str, Any]) -> None:
        manager.__dict__["_caches"] = {current(): cache}
        _managers.add(manager)


def key_content_types_by_tenant() -> None:
    """Make ContentType's managers keep their cache by tenant, those that exist already included."""
    ContentTypeManager._cache = PerTenant()  # type: ignore[attr-defined]  # private to Django, stable since 1.0
    for manager in ContentType._meta.local_managers:
        manager._cache = {}  # type: ignore[attr-defined]  # as its __init__ does
    ContentType._meta._expire_cache()  # type: ignore[attr-defined]  # what it handed out are copies


def forget_content_types(name: str) -> None:
    """Drop what is cached of a tenant whose schema is gone; a new one of that name has other ids."""
    for manager in list(_managers):  # those that migrations made included
        manager.__dict__["_caches"].pop(name, None)
