"""Tenants and their domains, to look at on the operators' host; `manage.py tenant` makes and deletes them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dms_project.tenancy.context import current
from dms_project.tenancy.models import Domain, Tenant
from dms_project.tenancy.names import PUBLIC


class ReadOnly:
    """Permissions of a ModelAdmin that shows rows and changes nothing."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyInPublic(ReadOnly):
    """The same, which does not exist on a tenant's host."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return current() == PUBLIC and super().has_view_permission(request, obj)  # type: ignore[misc]  # ModelAdmin's

    def has_module_permission(self, request: HttpRequest) -> bool:
        return current() == PUBLIC and super().has_module_permission(request)  # type: ignore[misc]  # ModelAdmin's


class DomainInline(ReadOnlyInPublic, admin.TabularInline):
    model = Domain


@admin.register(Tenant)
class TenantAdmin(ReadOnlyInPublic, admin.ModelAdmin):
    list_display = ["schema_name", "created_at"]
    search_fields = ["schema_name", "domains__host"]
    inlines = [DomainInline]
