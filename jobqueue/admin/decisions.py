"""What the admin does when people decide about dead letters: ask if it is about many, do it, say it, record it."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy, ngettext_lazy

from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from jobqueue.rows.dead_letters import Decided
from jobqueue.states import JobStatus

#: More than this many are asked about first.
_ASK_ABOVE = 100
_BATCH = 1_000
#: Many jobs requeued at once become due within this time, so that what killed them isn't hit by all of them at once.
_SPREAD_PER_JOB = timedelta(milliseconds=10)
#: What the audit says of those that a verb was applied to, in one language whoever did it.
PAST = {"requeue": "requeued", "discard": "discarded"}
_DONE = {
    "requeue": ngettext_lazy("%(jobs)d job requeued.", "%(jobs)d jobs requeued.", "jobs"),
    "discard": ngettext_lazy("%(jobs)d job discarded.", "%(jobs)d jobs discarded.", "jobs"),
}
_REFUSED = {
    "requeue": ngettext_lazy(
        "%(jobs)d job refused, since only dead letters can be requeued: job %(id)d is %(why)s.",
        "%(jobs)d jobs refused, since only dead letters can be requeued: job %(id)d is %(why)s.",
        "jobs",
    ),
    "discard": ngettext_lazy(
        "%(jobs)d job refused, since only dead letters can be discarded: job %(id)d is %(why)s.",
        "%(jobs)d jobs refused, since only dead letters can be discarded: job %(id)d is %(why)s.",
        "jobs",
    ),
}
_REASONS = {"locked": gettext_lazy("locked"), "unknown": gettext_lazy("unknown")}
_QUESTION = {
    "requeue": ngettext_lazy("Requeue %(jobs)d job?", "Requeue %(jobs)d jobs?", "jobs"),
    "discard": ngettext_lazy("Discard %(jobs)d job?", "Discard %(jobs)d jobs?", "jobs"),
}


def decide(
    model_admin: admin.ModelAdmin, request: HttpRequest, jobs: QuerySet[ProcessingJob], verb: str
) -> HttpResponse | None:
    """Carry an admin action out, or return the page that asks whether it is meant."""
    how_many = jobs.count()
    if how_many > _ASK_ABOVE and "confirmed" not in request.POST:
        return _question(model_admin, request, how_many, verb)
    decided = decide_and_record(request, jobs, verb)
    report(model_admin, request, decided, verb)
    return None


def decide_and_record(request: HttpRequest, jobs: QuerySet[ProcessingJob], verb: str) -> Decided:
    """Requeue or discard with an audit entry about each job."""
    return decide_in_batches(jobs, verb, lambda ids: _record(request, jobs.db, ids, verb))


def decide_in_batches(jobs: QuerySet[ProcessingJob], verb: str, record: Callable[[list[int]], None]) -> Decided:
    """Requeue or discard in batches, each a short transaction in which its ids are recorded, too."""
    using = jobs.db
    queue = Queue(using)
    act: dict[str, Callable[[list[int]], Decided]] = {
        "requeue": lambda batch: queue.requeue_dead_letters(batch, spread=_SPREAD_PER_JOB * (len(batch) - 1)),
        "discard": queue.discard_dead_letters,
    }
    decided = Decided()
    for batch in _batches(jobs):
        with transaction.atomic(using):
            part = act[verb](batch)
            if part.done:
                record(part.done)
        decided += part
    return decided


def _batches(jobs: QuerySet[ProcessingJob]) -> Iterator[list[int]]:
    """Yield the ids in order, by one query for each batch.

    Not by a server-side cursor: where an exception ends the loop, the garbage collector closes it, and waits for ever
    if that happens while the connection is in use.
    """
    ids = jobs.order_by("pk").values_list("pk", flat=True)
    last = 0
    while batch := list(ids.filter(pk__gt=last)[:_BATCH]):
        yield batch
        last = batch[-1]


def report(model_admin: admin.ModelAdmin, request: HttpRequest, decided: Decided, verb: str) -> None:
    """Tell the user what was done and what was refused."""
    if decided.done:
        model_admin.message_user(request, _DONE[verb] % {"jobs": len(decided.done)}, messages.SUCCESS)
    if decided.refused:
        model_admin.message_user(request, refusal(decided, verb), messages.WARNING)


def refusal(decided: Decided, verb: str) -> str:
    """Say how many were refused, and of one of them why."""
    job_id, why = next(iter(decided.refused.items()))
    reason = _REASONS[why] if why in _REASONS else JobStatus(why).label
    return str(_REFUSED[verb] % {"jobs": len(decided.refused), "id": job_id, "why": reason})


def _record(request: HttpRequest, using: str, ids: list[int], verb: str) -> None:
    if request.user.pk is None:
        return
    jobs = ProcessingJob.objects.using(using).filter(pk__in=ids).only("pk", "job_type")
    LogEntry.objects.log_actions(request.user.pk, jobs, CHANGE, f"{PAST[verb].capitalize()} in the admin.")


def _question(model_admin: admin.ModelAdmin, request: HttpRequest, how_many: int, verb: str) -> HttpResponse:
    context: dict[str, Any] = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": _QUESTION[verb] % {"jobs": how_many},
        "how_many": how_many,
        "verb": verb,
        "selected": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "checkbox_name": ACTION_CHECKBOX_NAME,
        "select_across": request.POST.get("select_across", "0"),
    }
    return TemplateResponse(request, "admin/jobqueue/processingjob/confirm.html", context)
