"""The jobs in Django's admin: to read, and for dead letters to requeue or discard."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import ngettext

from jobqueue.error_text import summary
from jobqueue.exceptions import JobNotFound, NotDeadLettered
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue


if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[ProcessingJob]
else:
    _ModelAdmin = admin.ModelAdmin  # takes no type parameter at run time


@admin.register(ProcessingJob)
class ProcessingJobAdmin(_ModelAdmin):
    """Nothing can be edited: what changes a job's state is the queue, here by two actions with rights of their own."""

    list_display = ["id", "job_type", "queue_name", "status", "tries", "available_at", "locked_by", "error"]
    list_filter = ["status", "queue_name", "job_type"]
    search_fields = ["=id", "job_type", "idempotency_key", "last_error"]
    ordering = ["-id"]
    list_per_page = 50
    show_full_result_count = False
    actions = ["requeue", "discard"]
    fieldsets = [
        (None, {"fields": ["job_type", "queue_name", "status", "priority", "tries", "progress", "idempotency_key"]}),
        ("Times", {"fields": ["created_at", "available_at", "started_at", "finished_at"]}),
        ("Lock", {"fields": ["locked_by", "locked_at", "lock_token", "claim_alone"]}),
        ("Content", {"fields": ["payload_text", "result_text"]}),
        ("Failure", {"fields": ["error_text"]}),
        ("History", {"fields": ["attempts_table"]}),
    ]

    # Rights

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Jobs are enqueued by code."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: ProcessingJob | None = None) -> bool:
        """A job's row belongs to the queue."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ProcessingJob | None = None) -> bool:
        """Discard keeps the record; retention removes it."""
        return False

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may requeue dead letters."""
        return request.user.has_perm("jobqueue.requeue_processingjob")

    def has_discard_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may discard dead letters."""
        return request.user.has_perm("jobqueue.discard_processingjob")

    # Actions

    @admin.action(description="Requeue dead letters", permissions=["requeue"])
    def requeue(self, request: HttpRequest, queryset: QuerySet[ProcessingJob]) -> None:
        """Let the selected dead letters run again."""
        self._decide(request, queryset, "requeued", Queue(queryset.db).requeue_dead_letter)

    @admin.action(description="Discard dead letters", permissions=["discard"])
    def discard(self, request: HttpRequest, queryset: QuerySet[ProcessingJob]) -> None:
        """Give the selected dead letters up."""
        self._decide(request, queryset, "discarded", Queue(queryset.db).discard)

    def _decide(
        self, request: HttpRequest, jobs: QuerySet[ProcessingJob], done_word: str, verb: Callable[[int], None]
    ) -> None:
        """Apply the verb to each job and say what was done and what was refused; each job decides for itself."""
        done, refused = 0, []
        for job in jobs.order_by("pk").only("pk", "job_type"):
            try:
                verb(job.pk)
            except (NotDeadLettered, JobNotFound) as error:
                refused.append(str(error))
                continue
            done += 1
            self.log_change(request, job, f"{done_word.capitalize()} in the admin.")
        if done:
            text = ngettext("%(n)s job was %(verb)s.", "%(n)s jobs were %(verb)s.", done)
            self.message_user(request, text % {"n": done, "verb": done_word}, messages.SUCCESS)
        if refused:
            text = ngettext(
                "%(n)s job was refused: %(first)s", "%(n)s jobs were refused, the first: %(first)s", len(refused)
            )
            self.message_user(request, text % {"n": len(refused), "first": refused[0]}, messages.WARNING)

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


def _cells(entry: dict[str, Any], columns: tuple[str, ...]) -> SafeString:
    return format_html_join("", "<td>{}</td>", ((entry.get(column, ""),) for column in columns))


def _preformatted(text: str) -> SafeString:
    return format_html('<pre style="white-space: pre-wrap; margin: 0">{}</pre>', text)
