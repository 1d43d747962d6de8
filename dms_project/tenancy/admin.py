"""Tenants and their domains, to look at on the operators' host; `manage.py tenant` makes and deletes them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import lazy
from django.utils.translation import gettext

from dms_project.tenancy.context import current
from dms_project.tenancy.models import Domain, Tenant
from dms_project.tenancy.names import PUBLIC
from dms_project.tenancy.routers import lives_in


def _title() -> str:
    """Say whose administration this is, so that nobody takes one tenant's for another's."""
    name = current()
    return gettext("Administration of all tenants") if name == PUBLIC else gettext("Administration of %s") % name


# One site serves every host: its title is made when a page is.
admin.site.site_header = admin.site.site_title = lazy(_title, str)()


class ReadOnly:
    """Permissions of a ModelAdmin that shows rows and changes nothing."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyWhereItLives(ReadOnly):
    """The same, for models whose tables only some schemas have: at the hosts of the others nothing is there.

    Not even the ids are looked up there: Django's admin looks before it asks for a permission.
    """

    opts: Any

    def _is_here(self) -> bool:
        return lives_in(self.opts.app_label, current())

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_here() and super().has_view_permission(request, obj)  # type: ignore[misc]  # ModelAdmin's

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self._is_here() and super().has_module_permission(request)  # type: ignore[misc]  # ModelAdmin's

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # ModelAdmin's
        return rows if self._is_here() else rows.none()


class DomainInline(ReadOnlyWhereItLives, admin.TabularInline):
    model = Domain


@admin.register(Tenant)
class TenantAdmin(ReadOnlyWhereItLives, admin.ModelAdmin):
    list_display = ["schema_name", "created_at"]
    search_fields = ["schema_name", "domains__host"]
    inlines = [DomainInline]
