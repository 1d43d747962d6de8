"""Which tenant this thread or task works for."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from dms_project.tenancy.exceptions import TenantNotFound
from dms_project.tenancy.names import PUBLIC, is_tenant_name


@dataclass(frozen=True, eq=False, slots=True)
class Activation:
    """One entry into ``use()``.

    Compared by identity: the database connection applies each entry anew, so that a ``SET search_path`` made by hand
    in one block is gone in the next, even in one of the same tenant.
    """

    schema_name: str


_NO_TENANT = Activation(PUBLIC)
_active: ContextVar[Activation] = ContextVar("dms_project.tenancy.active", default=_NO_TENANT)

# Tenants that were found once, so that only the first use() of each asks the database. A tenant that is deleted later
# fails all the same, at its first statement: see postgresql/base.py. Only existing names come in: it stays small.
_found: set[str] = set()


@contextmanager
def use(name: str) -> Iterator[None]:
    """Make a tenant, or ``PUBLIC``, the active one until the block ends; blocks nest.

    A new thread starts without a tenant; an asyncio task starts with its parent's. Inside an event loop an unknown name
    fails at the first statement instead of here, since nothing may wait for the database there.

    Raises:
        TenantNotFound: No tenant has that name.
    """
    if name != PUBLIC:
        _verify(name)
    token = _active.set(Activation(name))
    try:
        yield
    finally:
        _active.reset(token)


def current() -> str:
    """Return the active schema's name: a tenant's name, or ``PUBLIC`` when no tenant is active."""
    return _active.get().schema_name


def activation() -> Activation:
    """Return the entry into ``use()`` that is in force, for the database backend."""
    return _active.get()


def _verify(name: str) -> None:
    if name in _found:
        return
    if not is_tenant_name(name):
        raise TenantNotFound(f"There is no tenant {name!r}.")
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        from dms_project.tenancy.models import Tenant  # the package is imported before Django's apps are ready

        if not Tenant.objects.filter(schema_name=name).exists():
            raise TenantNotFound(f"There is no tenant {name!r}.") from None
        _found.add(name)
