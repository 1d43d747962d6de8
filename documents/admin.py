"""What operators of a tenant may look at. Documents are changed by the API, the audit by nobody."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dms_project.tenancy import PUBLIC, current
from dms_project.tenancy.admin import ReadOnly
from documents.models import AuditEntry, Document, DocumentVersion


class ReadOnlyInTenants(ReadOnly):
    """Rows that are shown and never changed here; at the operators' host there are none."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return current() != PUBLIC and super().has_view_permission(request, obj)  # type: ignore[misc]  # ModelAdmin's

    def has_module_permission(self, request: HttpRequest) -> bool:
        return current() != PUBLIC and super().has_module_permission(request)  # type: ignore[misc]  # ModelAdmin's


class VersionInline(ReadOnlyInTenants, admin.TabularInline):
    model = DocumentVersion
    extra = 0


@admin.register(Document)
class DocumentAdmin(ReadOnlyInTenants, admin.ModelAdmin):
    list_display = ("title", "status", "created_by", "created_at", "deleted_at", "job_id")
    list_filter = ("status", ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = ("created_by",)
    search_fields = ("title", "id")
    fields = ("id", "title", "status", "steps", "job_id", "created_by", "created_at", "deleted_at")
    inlines = (VersionInline,)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyInTenants, admin.ModelAdmin):
    list_display = ("at", "action", "document_id", "actor_name")
    list_filter = ("action",)
    search_fields = ("document_id", "actor_name")
