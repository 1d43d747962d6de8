"""Where a worker learns which tenants there are, and how to enter one. Without tenants: one unnamed schema."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from jobqueue.conf import conf


class TenantSource(Protocol):
    """What ``JOBQUEUE["TENANTS"]`` names: a module or an object with these two functions."""

    def names(self) -> Sequence[str]:
        """Return the tenants to be served now."""

    def use(self, name: str, /) -> AbstractContextManager[object]:
        """Return a context in which the tenant is the active one; raises if it doesn't exist."""

    # Optional: ``current() -> str`` names the active tenant, so that a wake-up can say where to look; and
    # ``everybody() -> Sequence[str]`` also those that aren't served now, for who looks at jobs.


class SingleSchema:
    """The source of a project without tenants."""

    def names(self) -> Sequence[str]:
        """Return the one name there is, which is empty."""
        return ("",)

    def use(self, name: str, /) -> AbstractContextManager[object]:
        """Change nothing."""
        return nullcontext()


def everybody(source: TenantSource) -> Sequence[str]:
    """Return all tenants, also those that aren't served now, as far as the source tells of them."""
    names: Callable[[], Sequence[str]] = getattr(source, "everybody", source.names)
    return names()


def current_tenant() -> str:
    """Return the active tenant's name; empty if there are no tenants or the source can't tell."""
    current = _current_of(conf().tenants)
    return current() if current else ""


@cache
def _current_of(path: str | None) -> Callable[[], str] | None:
    return getattr(tenant_source(), "current", None)


def _import(path: str) -> object:
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name != path:
            raise
        return import_string(path)


def tenant_source() -> TenantSource:
    """Return what the settings name.

    Raises:
        ImproperlyConfigured: It can't be imported or lacks a function.
    """
    path = conf().tenants
    if path is None:
        return SingleSchema()
    try:
        source = _import(path)
    except ImportError as error:
        raise ImproperlyConfigured(f"JOBQUEUE['TENANTS'] names {path!r}, which can't be imported: {error}") from error
    for function in ("names", "use"):
        if not callable(getattr(source, function, None)):
            raise ImproperlyConfigured(f"JOBQUEUE['TENANTS'] names {path!r}, which has no function {function}().")
    return cast(TenantSource, source)
