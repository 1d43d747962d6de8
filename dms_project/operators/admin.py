"""The list of tenants, with what waits, runs and died in each, and the dead letters of all of them."""

from django.contrib import admin
from django.db import Error, transaction
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from dms_project.operators.fleet_desk import FleetCausesView, address
from dms_project.tenancy import TenantNotFound, use
from dms_project.tenancy.admin import TenantAdmin
from dms_project.tenancy.models import Tenant
from jobqueue.counts import LIMIT, Counts, count_jobs

admin.site.unregister(Tenant)


@admin.register(Tenant)
class TenantAtWorkAdmin(TenantAdmin):
    """Reads two statements per tenant shown, so a page shows few."""

    list_display = ["schema_name", "pending", "oldest", "processing", "dead_letters", "created_at"]
    list_per_page = 25

    def get_urls(self) -> list[URLPattern]:
        """Add the page of dead letters."""
        dead_letters = self.admin_site.admin_view(FleetCausesView.as_view(model_admin=self))
        return [path("dead-letters/", dead_letters, name="tenancy_tenant_dead_letters"), *super().get_urls()]

    @admin.display(description="pending jobs")
    def pending(self, tenant: Tenant) -> str:
        """How many jobs wait."""
        counts = _counts(tenant)
        return _number(counts.pending) if counts else "out of service"

    @admin.display(description="waiting since")
    def oldest(self, tenant: Tenant) -> str:
        """For how long the job that is due for longest is due."""
        counts = _counts(tenant)
        return timesince(counts.oldest_due) if counts and counts.oldest_due else "-"

    @admin.display(description="running jobs")
    def processing(self, tenant: Tenant) -> str:
        """How many jobs run."""
        counts = _counts(tenant)
        return _number(counts.processing) if counts else "-"

    @admin.display(description="dead letters")
    def dead_letters(self, tenant: Tenant) -> SafeString | str:
        """How many jobs wait for a person, and the way to them."""
        counts = _counts(tenant)
        if not counts or not counts.dead_letter:
            return "0" if counts else "-"
        return format_html('<a href="{}">{}</a>', address(tenant.schema_name), _number(counts.dead_letter))


def _counts(tenant: Tenant) -> Counts | None:
    """Read a tenant's counts once per page; None if it has no schema, or one that isn't migrated."""
    known: dict[str, Counts | None] = tenant.__dict__
    if "job_counts" not in known:
        try:
            with use(tenant.schema_name), transaction.atomic():  # a failure must not fail the page's own transaction
                known["job_counts"] = count_jobs()
        except (TenantNotFound, Error):
            known["job_counts"] = None
    return known["job_counts"]


def _number(count: int) -> str:
    return f"more than {LIMIT:,}" if count >= LIMIT else f"{count:,}"
