"""All tenants, whether they are served or suspended; for whoever looks after what they have."""

from dms_project.tenancy.context import current, use
from dms_project.tenancy.models import Tenant
from dms_project.tenancy.names import PUBLIC

__all__ = ["current", "exists", "names", "use"]


def names() -> list[str]:
    """Return every schema that may hold jobs: ``public`` first, then the tenants in the order of their names."""
    return [PUBLIC, *Tenant.objects.order_by("schema_name").values_list("schema_name", flat=True)]


def exists(name: str) -> bool:
    """Say whether ``name`` is ``public`` or a tenant."""
    return name == PUBLIC or Tenant.objects.filter(schema_name=name).exists()
