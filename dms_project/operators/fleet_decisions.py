"""What operators decide about the dead letters of tenants: done in each one's schema, recorded in their own."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, ngettext_lazy

from dms_project.tenancy import PUBLIC, TenantNotFound, use
from dms_project.tenancy.models import Tenant
from jobqueue.admin.decisions import PAST, decide_in_batches, refusal
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import Decided

#: In so many tenants it is said what was refused.
_NAMED = 5
_DONE = {
    "requeue": ngettext_lazy("%(jobs)d job of %(where)s requeued.", "%(jobs)d jobs of %(where)s requeued.", "jobs"),
    "discard": ngettext_lazy("%(jobs)d job of %(where)s discarded.", "%(jobs)d jobs of %(where)s discarded.", "jobs"),
}


def may(request: HttpRequest, verb: str) -> bool:
    """Say whether an operator may ``view``, ``requeue`` or ``discard`` jobs."""
    return bool(request.user.has_perm(f"jobqueue.{verb}_processingjob"))


def rights(request: HttpRequest) -> dict[str, bool]:
    """Return what templates ask for."""
    may_requeue, may_discard = may(request, "requeue"), may(request, "discard")
    return {"may_requeue": may_requeue, "may_discard": may_discard, "may_decide": may_requeue or may_discard}


def demand(model_admin: Any, request: HttpRequest, verb: str) -> None:
    """Let nobody in who may not look at tenants, and do this to jobs."""
    if not (model_admin.has_view_permission(request) and may(request, verb)):
        raise PermissionDenied


def decide(request: HttpRequest, tenant: str, jobs: QuerySet[ProcessingJob], verb: str, about: str) -> Decided:
    """Requeue or discard in batches, each recorded in the same transaction.

    Call it with the tenant in use. ``about`` says in the audit what these jobs have in common.
    """

    def record(ids: list[int]) -> None:
        """In the operators' own schema, since there the users are; about the tenant."""
        letters = f"{len(ids):,} dead letter{'s' if len(ids) > 1 else ''}{about}"
        which = f"job{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"
        with use(PUBLIC):
            tenants = Tenant.objects.filter(schema_name=tenant)
            operator: int = request.user.pk  # type: ignore[assignment]  # nobody anonymous comes this far
            said = f"{PAST[verb].capitalize()} {letters}: {which}."
            LogEntry.objects.log_actions(operator, tenants, CHANGE, said)

    return decide_in_batches(jobs, verb, record)


def report(
    model_admin: Any, request: HttpRequest, decided: Mapping[str, Decided], gone: Iterable[str], verb: str
) -> None:
    """Tell the operator what was done in which tenants, what was refused and why, and which tenants are gone."""
    done = {tenant: len(each.done) for tenant, each in decided.items() if each.done}
    if done:
        tenants = ngettext("%d tenant", "%d tenants", len(done)) % len(done)
        words = {"jobs": sum(done.values()), "where": next(iter(done)) if len(done) == 1 else tenants}
        model_admin.message_user(request, _DONE[verb] % words, messages.SUCCESS)
    else:
        text = _("Nothing was left to decide: somebody has decided about these jobs already.")
        model_admin.message_user(request, text, messages.WARNING)
    refused = {tenant: refusal(each, verb) for tenant, each in decided.items() if each.refused}
    for tenant in list(refused)[:_NAMED]:
        text = _("In %(tenant)s: %(refusal)s") % {"tenant": tenant, "refusal": refused[tenant]}
        model_admin.message_user(request, text, messages.WARNING)
    if len(refused) > _NAMED:
        text = _("The same in %d more tenants.") % (len(refused) - _NAMED)
        model_admin.message_user(request, text, messages.WARNING)
    if gone := list(gone):
        model_admin.message_user(request, _("Gone meanwhile: %s.") % ", ".join(gone), messages.WARNING)


def decide_by_id(model_admin: Any, request: HttpRequest, ids: Mapping[str, list[int]], verb: str) -> None:
    """Requeue or discard the jobs with these ids of each tenant, and say what came of it."""
    demand(model_admin, request, verb)
    if not ids:
        model_admin.message_user(request, _("Nothing was ticked: tick some dead letters first."), messages.WARNING)
        return
    decided: dict[str, Decided] = {}
    gone = []
    for tenant, of_it in ids.items():
        try:
            with use(tenant):
                jobs = ProcessingJob.objects.filter(pk__in=of_it)
                decided[tenant] = decide(request, tenant, jobs, verb, "")
        except TenantNotFound:
            gone.append(tenant)
    report(model_admin, request, decided, gone, verb)
