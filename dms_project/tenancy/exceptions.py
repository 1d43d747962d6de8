"""What can go wrong between tenants."""


class TenancyError(Exception):
    """Root of the tenancy layer's errors."""


class TenantNotFound(TenancyError, LookupError):
    """No such tenant, or its schema is gone from the database."""


class ForeignSchema(TenancyError):
    """A schema of that name exists and is not a tenant's: it is neither taken over nor dropped."""


class CursorOfAnotherTenant(TenancyError):
    """A cursor opened under one tenant was used under another."""
