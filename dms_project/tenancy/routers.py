"""Which app's tables live in which schema."""

from typing import Any

from django.conf import settings

from dms_project.tenancy.context import current
from dms_project.tenancy.names import PUBLIC


def lives_in(app_label: str, schema_name: str) -> bool:
    """Say whether an app has its tables in ``public`` or in a tenant's schema; most apps have them in both."""
    absent: list[str] = settings.TENANCY_TENANT_APPS if schema_name == PUBLIC else settings.TENANCY_PUBLIC_APPS
    return app_label not in absent


class TenancyRouter:
    """Keep migrations, and what else asks a router, from touching tables that don't live in the active schema."""

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        return None if lives_in(app_label, current()) else False
