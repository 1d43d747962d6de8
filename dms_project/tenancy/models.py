"""Who the tenants are, and by which host names they are reached. Both tables live in ``public``.

A tenant's search_path never contains ``public``, so the tables are addressed with their schema's name.
"""

from typing import Any, Never

from django.db import models
from django.db.models.functions import Now

from dms_project.tenancy.names import (
    HOST_MAX_LENGTH,
    HOST_PATTERN,
    NAME_PATTERN,
    RESERVED,
    validate_host,
    validate_name,
)


class TenantQuerySet(models.QuerySet["Tenant"]):
    def delete(self) -> Never:
        raise TypeError("A tenant is more than its row: use dms_project.tenancy.schemas.delete_tenant().")


class Tenant(models.Model):
    """A tenant, whose name is its schema's name; made and deleted by ``schemas.py`` alone."""

    schema_name = models.CharField("name", max_length=63, validators=[validate_name])
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    suspended_at = models.DateTimeField(null=True, editable=False)

    objects = TenantQuerySet.as_manager()

    class Meta:
        db_table = '"public"."tenants"'
        ordering = ["schema_name"]
        constraints = [
            models.UniqueConstraint(fields=["schema_name"], name="tenant_name_is_unique"),
            # Lower case only: so unique means unique ignoring case.
            models.CheckConstraint(condition=models.Q(schema_name__regex=NAME_PATTERN), name="tenant_name_is_valid"),
            models.CheckConstraint(
                condition=~models.Q(schema_name__in=RESERVED) & ~models.Q(schema_name__startswith="pg_"),
                name="tenant_name_is_not_reserved",
            ),
        ]

    def __str__(self) -> str:
        return self.schema_name

    def delete(self, *args: Any, **kwargs: Any) -> Never:
        raise TypeError("A tenant is more than its row: use dms_project.tenancy.schemas.delete_tenant().")


class Domain(models.Model):
    """A host name that leads to a tenant, in the form that ``names.normalise_host`` gives."""

    host = models.CharField(max_length=HOST_MAX_LENGTH, validators=[validate_host])
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="domains")

    class Meta:
        db_table = '"public"."tenant_domains"'
        ordering = ["host"]
        constraints = [
            models.UniqueConstraint(fields=["host"], name="domain_host_is_unique"),
            models.CheckConstraint(condition=models.Q(host__regex=HOST_PATTERN), name="domain_host_is_valid"),
        ]

    def __str__(self) -> str:
        return self.host
