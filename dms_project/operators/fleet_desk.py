"""The operators' page about the dead letters of all tenants, to requeue or discard all that died of one cause."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import BadRequest, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views import View

from dms_project.operators.fleet_causes import REACH, addresses_of, causes_in
from dms_project.tenancy import PUBLIC, TenantNotFound, fleet, use
from dms_project.tenancy.models import Tenant
from jobqueue.admin.decisions import PAST, decide_in_batches
from jobqueue.dead_letters import Decided, of_cause
from jobqueue.models import ProcessingJob

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
        self._demand(request, "view")
        chosen = request.GET.get("tenant", "")
        names = fleet.names()
        if chosen and chosen not in names:
            raise Http404
        found = causes_in([chosen] if chosen else names, _SECONDS)
        context = {
            **self.model_admin.admin_site.each_context(request),
            "opts": self.model_admin.opts,
            "title": f"Dead letters of {chosen}" if chosen else "Dead letters of all tenants",
            "chosen": chosen,
            "causes": found.causes,
            "unread": found.unread,
            "looked_through": f"{REACH:,}" if found.cut else None,
            "may_requeue": self._may(request, "requeue"),
            "may_discard": self._may(request, "discard"),
        }
        return TemplateResponse(request, "admin/tenancy/tenant/dead_letters.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Decide about all dead letters of one cause; what died since the page was shown is left alone."""
        self._demand(request, "view")
        form = FleetCauseForm(request.POST)
        if not form.is_valid():
            raise BadRequest("This is no choice that the page of dead letters offers.")
        choice = form.cleaned_data
        self._demand(request, choice["verb"])
        decided, left_out = {}, []
        for tenant, newest_id in choice["newest"].items():
            try:
                decided[tenant] = _decide(request, tenant, newest_id, choice)
            except TenantNotFound:
                left_out.append(tenant)
        self._report(request, decided, left_out, choice["verb"])
        return HttpResponseRedirect(request.get_full_path())

    def _may(self, request: HttpRequest, verb: str) -> bool:
        return bool(request.user.has_perm(f"jobqueue.{verb}_processingjob"))

    def _demand(self, request: HttpRequest, verb: str) -> None:
        if not (self.model_admin.has_view_permission(request) and self._may(request, verb)):
            raise PermissionDenied

    def _report(self, request: HttpRequest, decided: dict[str, Decided], left_out: list[str], verb: str) -> None:
        done = {tenant: len(each.done) for tenant, each in decided.items() if each.done}
        refused = sum(len(each.refused) for each in decided.values())
        where = f"in {_number(len(done), 'tenant')}" if len(done) > 1 else f"of {next(iter(done), '')}"
        if done:
            text = f"{_number(sum(done.values()), 'job')} {where} {PAST[verb]}."
            self.model_admin.message_user(request, text, messages.SUCCESS)
        else:
            text = f"Nothing was left to {verb}: somebody has decided about these jobs already."
            self.model_admin.message_user(request, text, messages.WARNING)
        if refused:
            text = f"{_number(refused, 'job')} left alone: somebody else is deciding about them."
            self.model_admin.message_user(request, text, messages.WARNING)
        if left_out:
            self.model_admin.message_user(request, f"Gone meanwhile: {', '.join(left_out)}.", messages.WARNING)


def _decide(request: HttpRequest, tenant: str, newest_id: int, choice: dict[str, Any]) -> Decided:
    def record(ids: list[int]) -> None:
        """In the operators' own schema, since there the users are; about the tenant."""
        with use(PUBLIC):
            about = Tenant.objects.filter(schema_name=tenant)
            said = f"{PAST[choice['verb']].capitalize()} {_number(len(ids), 'dead letter')} of {choice['job_type']}"
            why = choice["cause"] or "no reason given"
            operator: int = request.user.pk  # type: ignore[assignment]  # nobody anonymous comes this far
            LogEntry.objects.log_actions(operator, about, CHANGE, f"{said} ({why}): {_listed(ids)}.")

    with use(tenant):
        shown = ProcessingJob.objects.filter(job_type=choice["job_type"], pk__lte=newest_id)
        return decide_in_batches(of_cause(shown, choice["cause"]), choice["verb"], record)


def _listed(ids: list[int]) -> str:
    return f"job{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def address(tenant: str) -> str:
    """Return where a tenant's dead letters are shown."""
    return f"{reverse('admin:tenancy_tenant_dead_letters')}?tenant={tenant}"
