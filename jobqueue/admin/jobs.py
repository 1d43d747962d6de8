"""The jobs in the admin: to read, and for dead letters to requeue or discard."""

import json
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from jobqueue.admin.causes import CausesView
from jobqueue.admin.decisions import decide
from jobqueue.admin.filters import CauseFilter, JobTypeFilter, QueueFilter
from jobqueue.admin.paging import CappedPaginator
from jobqueue.counts import LIMIT, count_jobs
from jobqueue.error_text import summary
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus

_BIGINT_MAX = 2**63 - 1


@admin.register(ProcessingJob)
class ProcessingJobAdmin(admin.ModelAdmin):
    """Nothing can be edited: what changes a job's state is the queue, here by two actions with rights of their own."""

    list_display = ["id", "job_type", "status", "tries", "error", "available_at", "queue_name", "locked_by"]
    list_filter = ["status", JobTypeFilter, QueueFilter, CauseFilter]
    search_fields = ["id"]  # shows the field; get_search_results says what is searched
    search_help_text = "A job's id, an idempotency key, or words in the error of a dead letter."
    ordering = ["-id"]
    list_per_page = 50
    paginator = CappedPaginator
    show_full_result_count = False
    actions = ["requeue", "discard"]
    fieldsets = [
        (None, {"fields": [("job_type", "status"), ("tries", "progress"), "error_text", "attempts_table"]}),
        ("Content", {"fields": ["payload_text", "result_text"]}),
        ("Times", {"fields": [("created_at", "available_at"), ("started_at", "finished_at")]}),
        ("Place", {"fields": [("queue_name", "priority"), "idempotency_key"]}),
        ("Lock", {"fields": [("locked_by", "locked_at"), ("lock_token", "worker_deaths")]}),
    ]

    # Rights

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Jobs are enqueued by code."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: ProcessingJob | None = None) -> bool:
        """A job's row belongs to the queue."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ProcessingJob | None = None) -> bool:
        """Discarding keeps the record."""
        return False

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may requeue dead letters."""
        return request.user.has_perm("jobqueue.requeue_processingjob")

    def has_discard_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may discard dead letters."""
        return request.user.has_perm("jobqueue.discard_processingjob")

    # Pages and actions

    def get_urls(self) -> list[URLPattern]:
        """Add the page of causes."""
        causes = self.admin_site.admin_view(CausesView.as_view(model_admin=self))
        return [path("causes/", causes, name="jobqueue_causes"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show how much waits, runs and died above the list."""
        if not all(_is_id(chosen) for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest("These are no ids of jobs.")
        counts = {"counts": count_jobs(self.get_queryset(request).db), "count_limit": LIMIT}
        return super().changelist_view(request, (extra_context or {}) | counts)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search what an index finds: id, key, and the errors of the dead letters."""
        term = search_term.strip().replace("\0", "")
        if not term:
            return queryset, False
        wanted = Q(idempotency_key=term) | Q(status=JobStatus.DEAD_LETTER, last_error__icontains=term)
        if _is_id(term):
            wanted |= Q(pk=int(term))
        return queryset.filter(wanted), False

    @admin.action(description="Requeue dead letters", permissions=["requeue"])
    def requeue(self, request: HttpRequest, queryset: QuerySet[ProcessingJob]) -> HttpResponse | None:
        """Let the selected dead letters run again."""
        return decide(self, request, queryset, "requeue")

    @admin.action(description="Discard dead letters", permissions=["discard"])
    def discard(self, request: HttpRequest, queryset: QuerySet[ProcessingJob]) -> HttpResponse | None:
        """Give the selected dead letters up."""
        return decide(self, request, queryset, "discard")

    # What is shown

    @admin.display(description="attempts")
    def tries(self, job: ProcessingJob) -> str:
        """Attempts of those allowed."""
        return f"{job.attempts} of {job.max_attempts}"

    @admin.display(description="last error")
    def error(self, job: ProcessingJob) -> str:
        """The first line of the last error."""
        return summary(job.last_error)[:100]

    @admin.display(description="payload")
    def payload_text(self, job: ProcessingJob) -> SafeString:
        """The payload, indented."""
        return _preformatted(json.dumps(job.payload, indent=2, ensure_ascii=False))

    @admin.display(description="result")
    def result_text(self, job: ProcessingJob) -> SafeString:
        """The result, indented."""
        return _preformatted(json.dumps(job.result, indent=2, ensure_ascii=False))

    @admin.display(description="last error")
    def error_text(self, job: ProcessingJob) -> SafeString:
        """The last error with its traceback."""
        return _preformatted(job.last_error or "-")

    @admin.display(description="attempts")
    def attempts_table(self, job: ProcessingJob) -> SafeString:
        """One row per recorded attempt."""
        columns = ("attempt", "worker", "started_at", "ended_at", "outcome", "error")
        head = format_html_join("", "<th>{}</th>", ((column.replace("_", " "),) for column in columns))
        rows = format_html_join("", "<tr>{}</tr>", ((_cells(entry, columns),) for entry in job.history))
        return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", head, rows)


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) <= _BIGINT_MAX


def _cells(entry: dict[str, Any], columns: tuple[str, ...]) -> SafeString:
    return format_html_join("", "<td>{}</td>", ((_cell(column, entry.get(column)),) for column in columns))


def _cell(column: str, value: Any) -> str:
    """Times stand in the history as ISO texts; to the second they are easier to compare."""
    text = "" if value is None else str(value)
    return text[:19].replace("T", " ") if column.endswith("_at") else text


def _preformatted(text: str) -> SafeString:
    return format_html('<pre class="jobqueue-text">{}</pre>', text)
