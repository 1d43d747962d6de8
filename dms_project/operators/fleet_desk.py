"""The operators' page about the dead letters of all tenants, to requeue or discard all that died of one cause."""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views import View

from dms_project.operators.fleet_causes import REACH, addresses_of, causes_in
from dms_project.operators.fleet_decisions import decide, demand, report, rights
from dms_project.tenancy import TenantNotFound, fleet, use
from jobqueue.admin.reach import number
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import Decided, of_cause

#: For a look at all tenants; what is left out then is said.
_SECONDS = 5.0
_NEWEST_ID_MAX = 2**63 - 1


class FleetCauseForm(forms.Form):
    """What one row of the page sends: a decision about the dead letters that the row stood for when it was shown."""

    verb = forms.ChoiceField(choices=[("requeue", "requeue"), ("discard", "discard")])
    job_type = forms.CharField(strip=False)
    cause = forms.CharField(strip=False, required=False)
    newest = forms.CharField()

    def clean_newest(self) -> dict[str, int]:
        """Return the newest id that is meant, by tenant."""
        try:
            newest_ids = addresses_of(self.cleaned_data["newest"])
        except ValueError:
            newest_ids = {}
        if not newest_ids or not all(0 <= newest_id <= _NEWEST_ID_MAX for newest_id in newest_ids.values()):
            raise forms.ValidationError("These are no ids of jobs.")
        return newest_ids


class FleetCausesView(View):
    """GET lists the causes, with ``?tenant=`` those of one tenant; POST requeues or discards all of one cause."""

    model_admin: ClassVar[Any] = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show what the dead letters of all tenants died of."""
        demand(self.model_admin, request, "view")
        chosen = request.GET.get("tenant", "")
        names = fleet.names()
        if chosen and chosen not in names:
            raise Http404
        found = causes_in([chosen] if chosen else names, _SECONDS)
        context = {
            **self.model_admin.admin_site.each_context(request),
            "opts": self.model_admin.opts,
            "title": _("Dead letters of %s") % chosen if chosen else _("Dead letters of all tenants"),
            "jobs_name": ProcessingJob._meta.verbose_name_plural,
            "chosen": chosen,
            "causes": found.causes,
            "unread": found.unread,
            "looked_through": number(REACH) if found.cut else None,
            **rights(request),
        }
        return TemplateResponse(request, "admin/tenancy/tenant/dead_letters.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide about all dead letters of one cause; what died since the page was shown is left alone."""
        demand(self.model_admin, request, "view")
        form = FleetCauseForm(request.POST)
        if not form.is_valid():
            raise BadRequest("This is no choice that the page of dead letters offers.")
        choice = form.cleaned_data
        demand(self.model_admin, request, choice["verb"])
        decided, gone = {}, []
        for tenant, newest_id in choice["newest"].items():
            try:
                decided[tenant] = _decide(request, tenant, newest_id, choice)
            except TenantNotFound:
                gone.append(tenant)
        report(self.model_admin, request, decided, gone, choice["verb"])
        return HttpResponseRedirect(request.get_full_path())


def _decide(request: HttpRequest, tenant: str, newest_id: int, choice: dict[str, Any]) -> Decided:
    with use(tenant):
        shown = ProcessingJob.objects.filter(job_type=choice["job_type"], pk__lte=newest_id)
        about = f" of {choice['job_type']} ({choice['cause'] or 'no reason given'})"
        return decide(request, tenant, of_cause(shown, choice["cause"]), choice["verb"], about)


def address(tenant: str) -> str:
    """Return where a tenant's dead letters are shown."""
    return f"{reverse('admin:tenancy_tenant_dead_letters')}?tenant={tenant}"
