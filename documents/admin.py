"""What operators of a tenant may look at. Documents are changed by the API, the audit by nobody."""

from django.contrib import admin

from dms_project.tenancy.admin import ReadOnlyWhereItLives
from documents.models import AuditEntry, Document, DocumentVersion


class VersionInline(ReadOnlyWhereItLives, admin.TabularInline):
    model = DocumentVersion
    extra = 0


@admin.register(Document)
class DocumentAdmin(ReadOnlyWhereItLives, admin.ModelAdmin):
    list_display = ("title", "status", "created_by", "created_at", "deleted_at", "job_id")
    list_filter = ("status", ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = ("created_by",)
    search_fields = ("title", "id")
    fields = ("id", "title", "status", "steps", "job_id", "created_by", "created_at", "deleted_at")
    inlines = (VersionInline,)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyWhereItLives, admin.ModelAdmin):
    list_display = ("at", "action", "document_id", "actor_name")
    list_filter = ("action",)
    search_fields = ("document_id", "actor_name")
