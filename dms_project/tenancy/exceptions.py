"""What can go wrong between tenants."""

from django.db import OperationalError


def reason(error: object) -> str:
    """Return what an error says, in one line: the driver's go on with hints and positions."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


class TenancyError(Exception):
    """Root of the tenancy layer's errors."""


class TenantNotFound(TenancyError, LookupError):
    """No such tenant, or its schema is gone from the database."""


class ForeignSchema(TenancyError):
    """A schema of that name exists and is not a tenant's: it is neither taken over nor dropped."""


class TenantInUse(TenancyError):
    """Somebody held on to a tenant's tables, so that it couldn't be deleted. Nothing was changed; it may pass."""


class BehindPooler(TenancyError, OperationalError):
    """The connection leads through a pooler, which might mix tenants; an outage to whoever asks, until it is mended."""


class CursorOfAnotherTenant(TenancyError):
    """A cursor opened under one tenant was used under another."""
