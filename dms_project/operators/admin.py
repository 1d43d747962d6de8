"""The list of tenants, with what waits, runs and died in each, and the dead letters of all of them."""

from typing import Any

from django.contrib import admin
from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views import View

from dms_project.operators.fleet_desk import FleetCausesView, address
from dms_project.operators.fleet_joblist import FleetJobsView, FleetJobView
from dms_project.operators.worker_time import worker_seconds
from dms_project.tenancy import TenantNotFound, use
from dms_project.tenancy.admin import TenantAdmin
from dms_project.tenancy.models import Domain, Tenant
from jobqueue.admin.labels import label
from jobqueue.admin.reach import counted
from jobqueue.error_text import migration_may_be_due
from jobqueue.rows.counts import Counts, count_jobs

label(
    Tenant,
    _("tenant"),
    _("tenants"),
    schema_name=_("name"),
    created_at=_("created at"),
    suspended_at=_("suspended since"),
)
label(Domain, _("host name"), _("host names"), host=_("host"))

admin.site.unregister(Tenant)


@admin.register(Tenant)
class TenantAtWorkAdmin(TenantAdmin):
    """Reads a few statements per tenant shown, so a page shows few."""

    list_display = [
        "schema_name",
        "pending",
        "oldest",
        "processing",
        "dead_letters",
        "worker_time",
        "state",
        "created_at",
    ]
    list_per_page = 25

    def get_urls(self) -> list[URLPattern]:
        """Add the pages about the jobs of all tenants."""

        def page(view: type[View]) -> Any:
            return self.admin_site.admin_view(view.as_view(model_admin=self))

        return [
            path("dead-letters/", page(FleetCausesView), name="tenancy_tenant_dead_letters"),
            path("jobs/", page(FleetJobsView), name="tenancy_tenant_jobs"),
            path("jobs/<str:tenant>/<int:job_id>/", page(FleetJobView), name="tenancy_tenant_job"),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Call the page by what it shows, in less words than Django does."""
        return super().changelist_view(request, {"title": gettext("Tenants")} | (extra_context or {}))

    @admin.display(description=_("pending jobs"))
    def pending(self, tenant: Tenant) -> str:
        """How many jobs wait."""
        counts = _counts(tenant)
        return counted(counts.pending) if counts else "-"

    @admin.display(description=_("waiting since"))
    def oldest(self, tenant: Tenant) -> str:
        """For how long the job that is due for longest is due."""
        counts = _counts(tenant)
        return timesince(counts.oldest_due) if counts and counts.oldest_due else "-"

    @admin.display(description=_("running jobs"))
    def processing(self, tenant: Tenant) -> str:
        """How many jobs run."""
        counts = _counts(tenant)
        return counted(counts.processing) if counts else "-"

    @admin.display(description=_("dead letters"))
    def dead_letters(self, tenant: Tenant) -> SafeString | str:
        """How many jobs wait for a person, and the way to them."""
        counts = _counts(tenant)
        if not counts or not counts.dead_letter:
            return "0" if counts else "-"
        return format_html('<a href="{}">{}</a>', address(tenant.schema_name), counted(counts.dead_letter))

    @admin.display(description=_("worker time (1 h)"))
    def worker_time(self, tenant: Tenant) -> str:
        """For how long the workers ran its jobs."""
        return f"{tenant.__dict__['worker_seconds']:,.1f} s" if _counts(tenant) else "-"

    @admin.display(description=_("state"))
    def state(self, tenant: Tenant) -> str:
        """Whether it is served."""
        if tenant.suspended_at:
            return gettext("suspended")
        if _counts(tenant):
            return gettext("served")
        if tenant.__dict__.get("is_behind"):
            return gettext("waits for its migrations: manage.py migrate")
        return gettext("out of service")


def _counts(tenant: Tenant) -> Counts | None:
    """Read a tenant's counts once per page; None if it has no schema, or one that isn't migrated."""
    known: dict[str, Counts | None] = tenant.__dict__
    if "job_counts" not in known:
        try:
            with use(tenant.schema_name), transaction.atomic():  # a failure must not fail the page's own transaction
                tenant.__dict__["worker_seconds"] = worker_seconds()
                known["job_counts"] = count_jobs()
        except (TenantNotFound, Error) as error:
            known["job_counts"] = None
            tenant.__dict__["is_behind"] = migration_may_be_due(error)
    return known["job_counts"]
