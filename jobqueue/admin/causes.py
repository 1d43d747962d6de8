"""The page of dead letters grouped by what they died of."""

from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views import View

from jobqueue.admin.decisions import decide_and_record, report
from jobqueue.dead_letters import causes
from jobqueue.models import ProcessingJob
from jobqueue.states import JobStatus


class CausesView(View):
    """GET lists the causes; POST requeues or discards all dead letters of one cause."""

    model_admin: ClassVar[Any] = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the most frequent causes."""
        self._demand(self.model_admin.has_view_permission(request))
        context = {
            **self.model_admin.admin_site.each_context(request),
            "opts": self.model_admin.opts,
            "title": "Dead letters by cause",
            "causes": causes(ProcessingJob.objects.all()),
            "may_requeue": self.model_admin.has_requeue_permission(request),
            "may_discard": self.model_admin.has_discard_permission(request),
            "jobs_url": reverse("admin:jobqueue_processingjob_changelist"),
        }
        return TemplateResponse(request, "admin/jobqueue/processingjob/causes.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide about all dead letters of one cause; what has changed since the page was shown is left alone."""
        verb = request.POST.get("verb", "")
        allowed = {
            "requeue": self.model_admin.has_requeue_permission,
            "discard": self.model_admin.has_discard_permission,
        }
        self._demand(verb in allowed and allowed[verb](request))
        jobs = ProcessingJob.objects.filter(
            status=JobStatus.DEAD_LETTER,
            job_type=request.POST.get("job_type", ""),
            last_error__startswith=request.POST.get("cause", ""),
            pk__lte=int(request.POST.get("newest_id", "0")),
        )
        ids = jobs.order_by("pk").values_list("pk", flat=True).iterator()
        report(self.model_admin, request, decide_and_record(request, jobs.db, ids, verb), verb)
        return HttpResponseRedirect(reverse("admin:jobqueue_causes"))

    def _demand(self, allowed: bool) -> None:
        if not allowed:
            raise PermissionDenied
