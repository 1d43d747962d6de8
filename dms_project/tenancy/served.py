"""The tenants as workers see them: ``settings.JOBQUEUE["TENANTS"]`` names this module.

A project with another tenancy layer gives the queue a module of its own with these functions.
"""

from dms_project.tenancy.context import current, use
from dms_project.tenancy.fleet import names as everybody
from dms_project.tenancy.models import Tenant
from dms_project.tenancy.names import PUBLIC

__all__ = ["current", "everybody", "names", "use"]


def names() -> list[str]:
    """Return whose jobs are to be begun: ``public``, then all tenants that aren't suspended, by name."""
    served = Tenant.objects.filter(suspended_at=None).order_by("schema_name")
    return [PUBLIC, *served.values_list("schema_name", flat=True)]
