"""The operators' pages about the jobs of all tenants: the list, and each job with its history and traceback."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from django import forms
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views import View

from dms_project.operators.fleet_decisions import decide_by_id, demand, rights
from dms_project.operators.fleet_jobs import SHOWN, FleetJobs, Wanted, jobs_in
from dms_project.tenancy import TenantNotFound, fleet, use
from jobqueue.admin.joblist import tallies
from jobqueue.admin.jobs import story
from jobqueue.handlers import registered
from jobqueue.models import NAME_MAX_LENGTH, ProcessingJob
from jobqueue.states import JobStatus

#: For a look at many tenants; a search, which may be for one job among all, has longer.
_SECONDS, _SECONDS_TO_SEARCH = 0.2, 5.0
_BIGINT_MAX = 2**63 - 1
_WORDS_MAX_LENGTH = 300


class LookForm(forms.Form):
    """What the list's address says: which tenants, which jobs of them."""

    q = forms.CharField(
        label=gettext_lazy("Search"),
        required=False,
        max_length=_WORDS_MAX_LENGTH,
        widget=forms.TextInput({"placeholder": gettext_lazy("Id, key, words of an error")}),
    )
    tenant = forms.CharField(label=gettext_lazy("Tenant"), required=False, widget=forms.TextInput({"list": "tenants"}))
    status = forms.ChoiceField(label=gettext_lazy("Status"), required=False)
    job_type = forms.CharField(
        label=gettext_lazy("Job type"),
        required=False,
        max_length=NAME_MAX_LENGTH,
        widget=forms.TextInput({"list": "job-types"}),
    )
    queue = forms.CharField(label=gettext_lazy("Queue"), required=False, max_length=NAME_MAX_LENGTH)
    start = forms.CharField(required=False, widget=forms.HiddenInput)
    before = forms.IntegerField(required=False, min_value=0, max_value=_BIGINT_MAX, widget=forms.HiddenInput)

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data, label_suffix="")
        status: Any = self.fields["status"]
        status.choices = [("", _("any")), *JobStatus.choices]

    @property
    def wanted(self) -> Wanted:
        """Return what is looked for."""
        asked = self.cleaned_data
        filters = {"status__exact": asked["status"], "job_type": asked["job_type"], "queue_name": asked["queue"]}
        return Wanted({name: value for name, value in filters.items() if value}, asked["q"], asked["before"])


class DecisionForm(forms.Form):
    """What a button below the list, or on a job's page, sends."""

    verb = forms.ChoiceField(choices=[("requeue", "requeue"), ("discard", "discard")])


class FleetJobsView(View):
    """GET lists the newest jobs of many tenants that match; POST requeues or discards those that are ticked."""

    model_admin: ClassVar[Any] = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show the list."""
        demand(self.model_admin, request, "view")
        form = LookForm(request.GET)
        if not form.is_valid():
            raise BadRequest("This is no choice that the list of jobs offers.")
        names = fleet.names()
        asked = form.cleaned_data
        chosen = asked["tenant"]
        if chosen and chosen not in names:
            found = FleetJobs(unreadable=[chosen])
        else:
            first = names.index(asked["start"]) if asked["start"] in names else 0
            tenants = [chosen] if chosen else names[first:]
            seconds = _SECONDS_TO_SEARCH if asked["q"] else _SECONDS
            found = jobs_in(request, tenants, form.wanted, seconds)
        context = {
            **self.model_admin.admin_site.each_context(request),
            **rights(request),
            "opts": self.model_admin.opts,
            "title": _("Jobs of %s") % chosen if chosen else _("Jobs of all tenants"),
            "form": form,
            "chosen": chosen,
            "found": found,
            "tallies": [(each, _with(request, status=each[0])) for each in tallies(found.counts)],
            "rows": [self._row(tenant, job) for tenant, job in found.jobs],
            "shown": SHOWN,
            "names": names,
            "job_types": sorted(registered()),
            "next_url": _with(request, start=found.next_tenant) if found.next_tenant else None,
            "older_url": _with(request, before=found.jobs[-1][1].pk) if found.more and chosen else None,
        }
        return TemplateResponse(request, "admin/tenancy/tenant/jobs.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide about the jobs that are ticked; those that are no dead letters any more are left alone."""
        demand(self.model_admin, request, "view")
        form = DecisionForm(request.POST)
        if not form.is_valid():
            raise BadRequest("This is no choice that the list of jobs offers.")
        ids = _ids_by_tenant(request.POST.getlist("job"))
        decide_by_id(self.model_admin, request, ids, form.cleaned_data["verb"])
        return HttpResponseRedirect(request.get_full_path())

    def _row(self, tenant: str, job: ProcessingJob) -> dict[str, Any]:
        job_admin = self.model_admin.admin_site.get_model_admin(ProcessingJob)
        cells = {name: getattr(job_admin, name)(job) for name in ("what", "tries", "note")}
        return {"tenant": tenant, "job": job, "is_dead": job.status == JobStatus.DEAD_LETTER, **cells}


class FleetJobView(View):
    """GET shows a job as its tenant's admin does; POST requeues or discards it."""

    model_admin: ClassVar[Any] = None

    def get(self, request: HttpRequest, tenant: str, job_id: int) -> HttpResponse:
        """Show the job."""
        demand(self.model_admin, request, "view")
        with self._found(tenant, job_id) as job:
            its_story = story(job)
        context = {
            **self.model_admin.admin_site.each_context(request),
            **rights(request),
            "opts": self.model_admin.opts,
            "title": f"{job} · {tenant}",
            "tenant": tenant,
            "job": job,
            "adminform": self._as_in_its_own_admin(request, job),
            **its_story,
            "is_dead": job.status == JobStatus.DEAD_LETTER,
        }
        return TemplateResponse(request, "admin/tenancy/tenant/job.html", context)

    def post(self, request: HttpRequest, tenant: str, job_id: int) -> HttpResponse:
        """Decide about the job."""
        demand(self.model_admin, request, "view")
        with self._found(tenant, job_id):
            form = DecisionForm(request.POST)
        if not form.is_valid():
            raise BadRequest("This is no choice that the page of a job offers.")
        decide_by_id(self.model_admin, request, {tenant: [job_id]}, form.cleaned_data["verb"])
        return HttpResponseRedirect(request.get_full_path())

    @contextmanager
    def _found(self, tenant: str, job_id: int) -> Iterator[ProcessingJob]:
        """Have the tenant in use, and its job."""
        try:
            with use(tenant):
                yield ProcessingJob.objects.get(pk=job_id)
        except (ProcessingJob.DoesNotExist, TenantNotFound) as error:
            raise Http404 from error

    def _as_in_its_own_admin(self, request: HttpRequest, job: ProcessingJob) -> AdminForm:
        """Return the fields of the page in the tenant's admin; none of them reads anything more."""
        job_admin = self.model_admin.admin_site.get_model_admin(ProcessingJob)
        fieldsets = job_admin.get_fieldsets(request, job)
        form = job_admin.get_form(request, job, change=True)(instance=job)
        return AdminForm(form, list(fieldsets), {}, flatten_fieldsets(fieldsets), model_admin=job_admin)


def _ids_by_tenant(ticked: list[str]) -> dict[str, list[int]]:
    """Read the boxes that are ticked, each ``tenant:id``."""
    ids = defaultdict(list)
    for each in ticked:
        tenant, _colon, job_id = each.partition(":")
        if not (job_id.isascii() and job_id.isdecimal() and int(job_id) <= _BIGINT_MAX):
            raise BadRequest("These are no ids of jobs.")
        ids[tenant].append(int(job_id))
    return dict(ids)


def _with(request: HttpRequest, **changed: Any) -> str:
    """Return the address of the same list, but for what is changed."""
    query = request.GET.copy()
    for name in ("start", "before"):
        query.pop(name, None)
    for name, value in changed.items():
        query[name] = str(value)
    return f"?{query.urlencode()}"
