"""Having the fleet look into a tenant, whatever the ledger says of it."""

from django.db import connections


def wake(tenant: str, using: str = "default") -> None:
    """Note in the ledger that a tenant is to be looked into now; joins the caller's transaction."""
    # Why SQL: the function is the ledger's one way in, see docs/adr/0008.
    with connections[using].cursor() as cursor:
        cursor.execute("SELECT public.jobqueue_wake(%s, statement_timestamp())", [tenant])
