"""The page of dead letters grouped by what they died of."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views import View

from jobqueue.admin.decisions import decide_and_record, report
from jobqueue.admin.paging import COUNT_LIMIT
from jobqueue.admin.reach import number
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import causes, newest_dead_letters, of_cause
from jobqueue.states import JobStatus


class CauseForm(forms.Form):
    """What one row of the page sends: a decision about the dead letters that the row stood for when it was shown."""

    verb = forms.ChoiceField(choices=[("requeue", "requeue"), ("discard", "discard")])
    job_type = forms.CharField(strip=False)
    cause = forms.CharField(strip=False, required=False)
    newest_id = forms.IntegerField(min_value=0, max_value=2**63 - 1)


class CausesView(View):
    """GET lists the causes; POST requeues or discards all dead letters of one, older ones than GET has read, too."""

    model_admin: ClassVar[Any] = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the most frequent causes among the newest dead letters."""
        self._demand(self.model_admin.has_view_permission(request))
        jobs = ProcessingJob.objects.all()
        dead = jobs.filter(status=JobStatus.DEAD_LETTER)[: COUNT_LIMIT + 1].count()
        context = {
            **self.model_admin.admin_site.each_context(request),
            "opts": self.model_admin.opts,
            "title": _("Dead letters by cause"),
            "jobs_name": self.model_admin.opts.verbose_name_plural,
            "causes": causes(newest_dead_letters(jobs, COUNT_LIMIT)),
            "looked_through": number(COUNT_LIMIT) if dead > COUNT_LIMIT else None,
            "may_requeue": self.model_admin.has_requeue_permission(request),
            "may_discard": self.model_admin.has_discard_permission(request),
            "jobs_url": reverse("admin:jobqueue_processingjob_changelist"),
        }
        return TemplateResponse(request, "admin/jobqueue/processingjob/causes.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide about all dead letters of one cause; what has changed since the page was shown is left alone."""
        self._demand(self.model_admin.has_view_permission(request))
        form = CauseForm(request.POST)
        if not form.is_valid():
            raise BadRequest("This is no choice that the page of causes offers.")
        choice = form.cleaned_data
        verb = choice["verb"]
        self._demand(getattr(self.model_admin, f"has_{verb}_permission")(request))
        shown = ProcessingJob.objects.filter(job_type=choice["job_type"], pk__lte=choice["newest_id"])
        jobs = of_cause(shown, choice["cause"])
        report(self.model_admin, request, decide_and_record(request, jobs, verb), verb)
        return HttpResponseRedirect(reverse("admin:jobqueue_causes"))

    def _demand(self, allowed: bool) -> None:
        if not allowed:
            raise PermissionDenied
