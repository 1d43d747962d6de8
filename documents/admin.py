"""What operators of a tenant may look at. Documents are changed by the API, the audit by nobody."""

from typing import ClassVar

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _

from dms_project.tenancy.admin import ReadOnlyWhereItLives
from documents.models import AuditEntry, Document, DocumentVersion
from jobqueue.admin.labels import explain, label

label(
    Document,
    _("document"),
    _("documents"),
    title=_("title"),
    status=_("status"),
    created_by=_("created by"),
    created_at=_("created at"),
    deleted_at=_("in the trash since"),
    job_id=_("job"),
)
explain(Document, deleted_at=_("when it was moved to the trash"))
label(
    DocumentVersion,
    _("version"),
    _("versions"),
    number=_("number"),
    is_current=_("current"),
    size_bytes=_("bytes"),
    mime_type=_("type"),
    file_name=_("file name"),
    storage_key=_("storage key"),
    thumbnail_key=_("thumbnail key"),
    thumbnail_size_bytes=_("bytes of the thumbnail"),
    archive_key=_("archive key"),
    archive_size_bytes=_("bytes of the archive version"),
    page_count=_("pages"),
    created_at=_("created at"),
)
explain(
    DocumentVersion,
    mime_type=_("by its content"),
    file_name=_("as it was uploaded; only for display"),
    thumbnail_key=_("empty: there is no thumbnail"),
    archive_key=_("empty: there is no archive version"),
)
label(
    AuditEntry,
    _("audit entry"),
    _("audit entries"),
    at=_("at"),
    actor_id=_("user’s number"),
    actor_name=_("user"),
    action=_("action"),
    document_id=_("document’s id"),
    details=_("details"),
)
explain(AuditEntry, actor_id=_("the user's id; none: the system"))


class VersionInline(ReadOnlyWhereItLives, admin.TabularInline):
    model = DocumentVersion
    extra = 0


@admin.register(Document)
class DocumentAdmin(ReadOnlyWhereItLives, admin.ModelAdmin):
    list_display = ("title", "status", "created_by", "created_at", "deleted_at", "job_id")
    list_filter = ("status", ("deleted_at", admin.EmptyFieldListFilter))
    list_select_related = ("created_by",)
    search_fields = ("title", "id")
    ordering = ("-created_at",)
    fields = ("id", "title", "status", "each_step", "job", "created_by", "created_at", "deleted_at")
    inlines = (VersionInline,)

    class Media:
        css: ClassVar = {"all": ("documents/admin.css",)}

    @admin.display(description=_("steps"))
    def each_step(self, document: Document) -> SafeString:
        """How each step ended, and why."""
        lines = (
            (": ".join(filter(None, (step["name"], step["status"], step.get("reason"), step.get("detail")))),)
            for step in document.steps
        )
        return format_html_join(mark_safe("<br>"), "{}", lines) or mark_safe("-")

    @admin.display(description=_("job"))
    def job(self, document: Document) -> SafeString | str:
        """The latest job that reads it."""
        if document.job_id is None:
            return "-"
        address = reverse("admin:jobqueue_processingjob_change", args=[document.job_id])
        return format_html('<a href="{}">{}</a>', address, document.job_id)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyWhereItLives, admin.ModelAdmin):
    list_display = ("at", "action", "document_id", "actor_name")
    list_filter = ("action",)
    search_fields = ("document_id", "actor_name")
