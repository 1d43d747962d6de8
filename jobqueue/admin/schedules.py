"""Schedules in the admin: those in code to watch and to pause, and others to make."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ImproperlyConfigured
from django.db import router
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from jobqueue.admin.labels import label
from jobqueue.control.schedules import problem
from jobqueue.exceptions import InvalidJob
from jobqueue.handlers import registered
from jobqueue.models import JobSchedule
from jobqueue.schedules import declared
from jobqueue.specs import JobSpec
from jobqueue.timetables import parse
from jobqueue.worker.scheduled_jobs import begin_at_next, database_time, pause, resume

_NEVER = "-"

label(
    JobSchedule,
    _("schedule"),
    _("schedules"),
    name=_("name"),
    timetable=_("times"),
    payload=_("payload"),
    queue_name=_("queue name"),
    priority=_("priority"),
    overlap=_("overlap"),
)


class ScheduleForm(forms.ModelForm):
    """A schedule that is made here."""

    job_type = forms.ChoiceField(label=_("Job type"), choices=lambda: [(name, name) for name in sorted(registered())])

    class Meta:
        model = JobSchedule
        fields = ["name", "timetable", "job_type", "payload", "queue_name", "priority", "overlap"]
        help_texts = {
            "name": _("Stays as it is; at most 100 characters."),
            "timetable": _(
                "<code>every 15 min</code> (s, min, h, d), or minute, hour, day of month, month and day of "
                "week with a time zone: <code>0 6 * * 1 Europe/Berlin</code>."
            ),
            "overlap": _("Off: a time is left out while the job of the one before is unfinished."),
        }

    def clean_name(self) -> str:
        """Refuse a name that code has."""
        name: str = self.cleaned_data["name"]
        if name in declared():
            raise forms.ValidationError(_("A schedule of this name is declared in code."))
        return name

    def clean_timetable(self) -> str:
        """Refuse what describes no times."""
        try:
            return str(parse(self.cleaned_data["timetable"]))
        except (ValueError, ImproperlyConfigured) as error:
            raise forms.ValidationError(str(error)) from None

    def clean(self) -> dict[str, Any]:
        """Refuse what could not be enqueued."""
        values = super().clean() or self.cleaned_data
        if not self.errors:
            try:
                JobSpec(
                    values["job_type"], values["payload"], queue_name=values["queue_name"], priority=values["priority"]
                ).checked()
            except InvalidJob as error:
                raise forms.ValidationError(str(error)) from None
        return values


@admin.register(JobSchedule)
class JobScheduleAdmin(admin.ModelAdmin):
    """The right to change is that to pause, too; what code declares is changed there."""

    form = ScheduleForm
    list_display = ["name", "times", "what", "last_run", "next_run", "note"]
    ordering = ["name"]
    sortable_by = ["name"]
    list_per_page = 100
    actions = ["pause", "resume"]
    show_facets = admin.ShowFacets.NEVER
    details = ["name", "times", "what", "last_run", "next_run", "note"]

    class Media:
        css = {"all": ["jobqueue/admin.css"]}

    # Rights

    def has_change_permission(self, request: HttpRequest, obj: JobSchedule | None = None) -> bool:
        """What code declares can't be changed here."""
        return super().has_change_permission(request, obj) and (obj is None or bool(obj.job_type))

    def has_delete_permission(self, request: HttpRequest, obj: JobSchedule | None = None) -> bool:
        """What code declares would come back."""
        return super().has_delete_permission(request, obj) and (obj is None or obj.name not in declared())

    # Pages and actions

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Find nothing for a name that PostgreSQL can't store."""
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Refuse such names before they get to the database."""
        if any("\0" in chosen for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest("These are no names of schedules.")
        return super().changelist_view(request, extra_context)

    def get_fields(self, request: HttpRequest, obj: JobSchedule | None = None) -> Any:
        """Show of one in code what the list shows."""
        return (
            self.details if obj and not self.has_change_permission(request, obj) else super().get_fields(request, obj)
        )

    def get_readonly_fields(self, request: HttpRequest, obj: JobSchedule | None = None) -> Any:
        """The name is what times that are done are remembered by."""
        if obj and not self.has_change_permission(request, obj):
            return self.details
        return ["name"] if obj else []

    def save_model(self, request: HttpRequest, obj: JobSchedule, form: Any, change: bool) -> None:
        """Let it begin with its next time."""
        begin_at_next(obj, database_time(router.db_for_write(JobSchedule)))
        super().save_model(request, obj, form, change)

    @admin.action(description=_("Pause"), permissions=["change"])
    def pause(self, request: HttpRequest, queryset: QuerySet[JobSchedule]) -> None:
        """Enqueue nothing of the selected ones until they are resumed."""
        rows = pause(queryset)
        self._record(request, rows, "Paused in the admin.")
        said = ngettext("%s schedule paused.", "%s schedules paused.", len(rows)) % len(rows)
        self.message_user(request, said, messages.SUCCESS)

    @admin.action(description=_("Resume"), permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[JobSchedule]) -> None:
        """Begin again with the next time."""
        rows = resume(queryset)
        self._record(request, rows, "Resumed in the admin.")
        said = ngettext("%s schedule resumed.", "%s schedules resumed.", len(rows)) % len(rows)
        self.message_user(request, said, messages.SUCCESS)

    def _record(self, request: HttpRequest, rows: list[JobSchedule], what: str) -> None:
        for row in rows:
            self.log_change(request, row, what)

    # What is shown

    @admin.display(description=_("times"))
    def times(self, row: JobSchedule) -> str:
        """The line that describes them."""
        return row.timetable

    @admin.display(description=_("enqueues"))
    def what(self, row: JobSchedule) -> str:
        """The type of its jobs."""
        schedule = declared().get(row.name)
        return row.job_type or (schedule.job_type if schedule else _NEVER)

    @admin.display(description=_("last run"))
    def last_run(self, row: JobSchedule) -> str:
        """The latest time for which a job was enqueued, with a link to the job."""
        if row.last_at is None:
            return _NEVER
        url = reverse(f"{self.admin_site.name}:jobqueue_processingjob_change", args=[row.last_job_id])
        return format_html('<a href="{}">{}</a>', url, localize(timezone.localtime(row.last_at)))

    @admin.display(description=_("next run"))
    def next_run(self, row: JobSchedule) -> str:
        """When it is due."""
        return _NEVER if row.next_at is None else localize(timezone.localtime(row.next_at))

    @admin.display(description=_("note"))
    def note(self, row: JobSchedule) -> str:
        """Why it enqueues nothing, if so."""
        return problem(row)
