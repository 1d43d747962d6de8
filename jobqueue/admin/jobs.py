"""The jobs in the admin: to read, and for dead letters to requeue or discard."""

import json
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import display_for_value
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from jobqueue.admin.causes import CausesView
from jobqueue.admin.control_room import ControlRoomView
from jobqueue.admin.decisions import decide
from jobqueue.admin.filters import CauseFilter, JobTypeFilter, QueueFilter
from jobqueue.admin.joblist import JobList
from jobqueue.admin.labels import explain, label
from jobqueue.admin.notes import note
from jobqueue.admin.paging import COUNT_LIMIT, CappedPaginator
from jobqueue.control.evidence import reasons
from jobqueue.control.timeline import timeline
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import newest_dead_letters, with_words
from jobqueue.states import JobStatus

#: Where jobs are put that name no queue.
DEFAULT_QUEUE = "default"
_BIGINT_MAX = 2**63 - 1
#: A search shows no more dead letters than these.
_FOUND = 500
#: A job's page shows no more of what people decided about it.
_DECISIONS = 50
_UNFINISHED = (JobStatus.PENDING, JobStatus.PROCESSING, JobStatus.DEAD_LETTER)


label(
    ProcessingJob,
    _("job"),
    _("jobs"),
    job_type=_("job type"),
    status=_("status"),
    progress=_("progress"),
    created_at=_("created at"),
    available_at=_("available at"),
    started_at=_("started at"),
    finished_at=_("finished at"),
    queue_name=_("queue name"),
    priority=_("priority"),
    idempotency_key=_("idempotency key"),
    concurrency_key=_("concurrency key"),
    concurrency_limit=_("concurrency limit"),
    locked_by=_("locked by"),
    locked_at=_("locked at"),
    lock_token=_("lock token"),
    worker_deaths=_("worker deaths"),
)
explain(
    ProcessingJob,
    priority=_("-100 to 100, higher first"),
    concurrency_limit=_("so many with this key run at once, at most"),
    progress=_("percent, as the handler reports it"),
    started_at=_("of the latest attempt"),
    locked_at=_("taken or last renewed"),
    worker_deaths=_("in a row"),
)


@admin.register(ProcessingJob)
class ProcessingJobAdmin(admin.ModelAdmin):
    """Nothing can be edited: what changes a job's state is the queue, here by two actions with rights of their own."""

    list_display = ["id", "what", "status", "tries", "note"]
    list_filter = ["status", JobTypeFilter, QueueFilter, CauseFilter]
    search_fields = ["id"]  # shows the field; get_search_results says what is searched
    search_help_text = _("A job's id, an idempotency key, or words in the first line of a dead letter's error.")
    ordering = ["-id"]
    sortable_by = ["id"]
    list_per_page = 50
    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # they count every choice of every filter
    actions = ["requeue", "discard"]
    fieldsets = [
        (None, {"fields": [("job_type", "status"), ("tries", "progress"), "error_text"]}),
        (_("Content"), {"fields": ["payload_text", "result_text"]}),
        (_("Times"), {"fields": [("created_at", "due_at"), ("started_at", "finished_at")]}),
        (
            _("Place"),
            {"fields": [("queue_name", "priority"), "idempotency_key", ("concurrency_key", "concurrency_limit")]},
        ),
        (_("Lock"), {"fields": [("locked_by", "locked_at"), ("lock_token", "worker_deaths")]}),
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
        """Add the control room and the page of causes."""
        control = self.admin_site.admin_view(ControlRoomView.as_view(model_admin=self))
        causes = self.admin_site.admin_view(CausesView.as_view(model_admin=self))
        return [
            path("control/", control, name="jobqueue_control"),
            path("causes/", causes, name="jobqueue_causes"),
            *super().get_urls(),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[JobList]:
        """Show the list that stays fast."""
        return JobList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Refuse what is no id before it gets to the database."""
        if not all(_is_id(chosen) for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest("These are no ids of jobs.")
        return super().changelist_view(request, extra_context)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Say of an unfinished job why it isn't running, and of any what has happened to it."""
        context |= story(context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search what is found at once: id, key, and the causes of the newest dead letters."""
        term = search_term.strip().replace("\0", "")
        if not term:
            return queryset, False
        jobs = ProcessingJob.objects.using(queryset.db)
        found = list(with_words(newest_dead_letters(jobs, COUNT_LIMIT), term).values_list("pk", flat=True)[:_FOUND])
        found += jobs.filter(idempotency_key=term).values_list("pk", flat=True)
        if _is_id(term):
            found.append(int(term))
        # As ids alone: with an OR the planner may read the primary key from its end until it meets enough of them.
        return queryset.filter(pk__in=found), False

    @admin.action(description=_("Requeue dead letters"), permissions=["requeue"])
    def requeue(self, request: HttpRequest, queryset: QuerySet[ProcessingJob]) -> HttpResponse | None:
        """Let the selected dead letters run again."""
        return decide(self, request, queryset, "requeue")

    @admin.action(description=_("Discard dead letters"), permissions=["discard"])
    def discard(self, request: HttpRequest, queryset: QuerySet[ProcessingJob]) -> HttpResponse | None:
        """Give the selected dead letters up."""
        return decide(self, request, queryset, "discard")

    # What is shown

    @admin.display(description=_("job type"))
    def what(self, job: ProcessingJob) -> str:
        """The type, and the queue if that says something."""
        if job.queue_name == DEFAULT_QUEUE:
            return job.job_type
        return gettext("%(job_type)s in %(queue)s") % {"job_type": job.job_type, "queue": job.queue_name}

    @admin.display(description=_("attempts"))
    def tries(self, job: ProcessingJob) -> str:
        """Attempts of those allowed."""
        return gettext("%(attempts)d of %(max)d") % {"attempts": job.attempts, "max": job.max_attempts}

    @admin.display(description=_("available at"))
    def due_at(self, job: ProcessingJob) -> str:
        """Since when it is due, or when it will be, written like the other times."""
        return str(display_for_value(job.due_at, ""))

    @admin.display(description=_("note"))
    def note(self, job: ProcessingJob) -> str:
        """What is of interest in its status."""
        return note(job)

    @admin.display(description=_("payload"))
    def payload_text(self, job: ProcessingJob) -> SafeString:
        """The payload, indented."""
        return _preformatted(json.dumps(job.payload, indent=2, ensure_ascii=False))

    @admin.display(description=_("result"))
    def result_text(self, job: ProcessingJob) -> SafeString:
        """The result, indented."""
        return _preformatted("-" if job.result is None else json.dumps(job.result, indent=2, ensure_ascii=False))

    @admin.display(description=_("last error"))
    def error_text(self, job: ProcessingJob) -> SafeString:
        """The last error with its traceback."""
        return _preformatted(job.last_error or "-")


def story(job: ProcessingJob) -> dict[str, Any]:
    """Return what the page of a job tells beside its fields: ``reasons`` why it isn't running, and ``events``."""
    return {
        "reasons": reasons(job) if job.status in _UNFINISHED else [],
        "events": timeline(job, _decisions(job)),
    }


def _is_id(text: str) -> bool:
    return text.isascii() and text.isdecimal() and int(text) <= _BIGINT_MAX


def _decisions(job: ProcessingJob) -> tuple[tuple[datetime, str, str], ...]:
    """What the audit says about a job: when, what, and who."""
    entries = LogEntry.objects.filter(
        content_type=ContentType.objects.get_for_model(ProcessingJob), object_id=str(job.pk)
    ).select_related("user")
    newest = entries.order_by("-action_time")[:_DECISIONS]
    return tuple((entry.action_time, entry.get_change_message(), str(entry.user)) for entry in newest)


def _preformatted(text: str) -> SafeString:
    return format_html('<pre class="jobqueue-text">{}</pre>', text)
