"""One PostgreSQL schema per tenant. The public names are here; docs/explanation/tenancy.md has the picture."""

from dms_project.tenancy.context import current, use
from dms_project.tenancy.exceptions import TenantNotFound
from dms_project.tenancy.names import PUBLIC

__all__ = ["PUBLIC", "TenantNotFound", "current", "use"]
