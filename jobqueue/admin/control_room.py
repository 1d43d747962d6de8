"""The page that shows the queue at work, and lets queues and schedules be paused and resumed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django.core.exceptions import BadRequest, PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.views import View

from jobqueue.admin.charts import Chart, Series, chart
from jobqueue.admin.switching import SwitchForm, switch_queue, switch_schedule
from jobqueue.control.activity import Activity, Span, activity
from jobqueue.control.queues import queue_states
from jobqueue.control.sampling import Sample, jobs_since
from jobqueue.control.schedules import schedule_states
from jobqueue.control.workers import worker_states
from jobqueue.models import ProcessingJob
from jobqueue.rows.counts import LIMIT, Counts, count_jobs


@dataclass(frozen=True)
class Window:
    """How far back the charts go."""

    name: str
    title: Any
    #: Of one slot of a chart.
    per: Any
    slot_seconds: int
    slots: int
    time_format: str


WINDOWS = {
    window.name: window
    for window in (
        Window("hour", gettext_lazy("Last hour"), gettext_lazy("per minute"), 60, 60, "%H:%M"),
        Window("day", gettext_lazy("Last day"), gettext_lazy("per half-hour"), 1800, 48, "%H:%M"),
        Window("week", gettext_lazy("Last week"), gettext_lazy("per 3 hours"), 10_800, 56, "%m-%d %H:%M"),
    )
}


class ControlRoomView(View):
    """GET shows the page, or the part of it that is kept up to date; POST pauses or resumes a queue or a schedule."""

    model_admin: ClassVar[Any] = None

    def get(self, request: HttpRequest) -> HttpResponse:
        """Show what runs, what waits, and what was."""
        self._demand(self.model_admin.has_view_permission(request))
        window = WINDOWS.get(request.GET.get("window", "hour"), WINDOWS["hour"])
        context = {
            "window": window,
            "windows": WINDOWS.values(),
            "may_pause": request.user.has_perm("jobqueue.add_pausedqueue"),
            "may_resume": request.user.has_perm("jobqueue.delete_pausedqueue"),
            "may_switch_schedules": request.user.has_perm("jobqueue.change_jobschedule"),
            "schedules": schedule_states(ProcessingJob.objects.db) if _may_see_schedules(request) else [],
            "jobs_url": reverse("admin:jobqueue_processingjob_changelist"),
            **_seen(window),
        }
        if request.GET.get("part") == "live":
            return TemplateResponse(request, "admin/jobqueue/processingjob/_control_live.html", context)
        context |= {
            **self.model_admin.admin_site.each_context(request),
            "opts": self.model_admin.opts,
            "title": gettext("Control room"),
        }
        return TemplateResponse(request, "admin/jobqueue/processingjob/control.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        """Pause or resume; what is so already is left so, and said."""
        self._demand(self.model_admin.has_view_permission(request))
        form = SwitchForm(request.POST)
        if not form.is_valid():
            raise BadRequest("This is no choice that the control room offers.")
        verb, name = form.cleaned_data["verb"], form.cleaned_data["queue_name"]
        if schedule := form.cleaned_data["schedule"]:
            self._demand(request.user.has_perm("jobqueue.change_jobschedule"))
            said = switch_schedule(request, verb, schedule)
        else:
            self._demand(request.user.has_perm(f"jobqueue.{'add' if verb == 'pause' else 'delete'}_pausedqueue"))
            said = switch_queue(request, verb, name)
        self.model_admin.message_user(request, said)
        return HttpResponseRedirect(request.get_full_path())

    def _demand(self, allowed: bool) -> None:
        if not allowed:
            raise PermissionDenied


def _may_see_schedules(request: HttpRequest) -> bool:
    return any(request.user.has_perm(f"jobqueue.{verb}_jobschedule") for verb in ("view", "change"))


def _seen(window: Window) -> dict[str, Any]:
    """Read everything that changes while somebody looks."""
    using = ProcessingJob.objects.db
    end = timezone.now()
    counts = count_jobs(using)
    sample = jobs_since(using, end - timedelta(seconds=window.slot_seconds * window.slots))
    span = Span(end.timestamp(), window.slot_seconds, window.slots)
    done = activity(sample.jobs, span, waiting_before=_waiting_before(counts, sample))
    return {
        "at": end,
        "pending": _number(counts.pending),
        "processing": _number(counts.processing),
        "dead_letters": _number(counts.dead_letter),
        "oldest_due": counts.oldest_due,
        "is_exact": sample.is_exact,
        "charts": _charts(done, span, window),
        "slots": _table(done, span, window),
        "queues": queue_states(using),
        "workers": worker_states(using),
    }


def _waiting_before(counts: Counts, sample: Sample) -> float:
    """Of all that is pending, what was enqueued before the span began. What is due later can't be told apart there."""
    in_span = sum(job.weight for job in sample.jobs if job.status == "pending")
    return max(counts.pending - in_span, 0.0)


def _charts(done: Activity, span: Span, window: Window) -> list[Chart]:
    times = tuple(_time(span.start + share * (span.end - span.start), window) for share in (0, 0.5, 1))
    first, middle, last = times
    finished = Series(gettext("finished"), "done", done.finished, as_bars=True)
    enqueued = Series(gettext("enqueued"), "new", done.enqueued)
    slow = Series(gettext("19 of 20 at most"), "slow", done.wait_p95)
    half = Series(gettext("half at most"), "new", done.wait_median)
    # The dead letters in front of the retries, of which they are no part.
    retried = Series(gettext("retried"), "slow", done.retried, as_bars=True)
    died = Series(gettext("dead letters"), "bad", done.died, as_bars=True)
    waiting = Series(gettext("due and not started"), "new", done.waiting)
    each: list[tuple[str, str, list[Series], Any]] = [
        ("throughput", gettext("Jobs %s") % window.per, [finished, enqueued], _short),
        ("latency", gettext("Wait before the start"), [slow, half], seconds_text),
        ("failures", gettext("Failures %s") % window.per, [retried, died], _short),
        ("waiting", gettext("Waiting jobs"), [waiting], _short),
    ]
    return [chart(name, title, series, text, (first, middle, last)) for name, title, series, text in each]


def _table(done: Activity, span: Span, window: Window) -> list[tuple[str, ...]]:
    """Return the same as numbers, the newest first."""
    rows = []
    for slot in reversed(range(span.slots)):
        waits = (done.wait_median[slot], done.wait_p95[slot])
        rows.append(
            (
                _time(span.start + slot * span.slot_seconds, window),
                *(f"{column[slot]:,.0f}" for column in (done.enqueued, done.finished)),
                *("-" if wait is None else seconds_text(wait) for wait in waits),
                *(f"{column[slot]:,.0f}" for column in (done.retried, done.died, done.waiting)),
            )
        )
    return rows


def _time(moment: float, window: Window) -> str:
    return timezone.localtime(datetime.fromtimestamp(moment, UTC)).strftime(window.time_format)


def _number(count: int) -> str:
    return gettext("more than %s") % f"{LIMIT:,}" if count >= LIMIT else f"{count:,}"


def _short(value: float) -> str:
    """Say a number of jobs in at most five characters."""
    for divisor, letter in ((1e6, "M"), (1e3, "k")):
        if value >= divisor * 10:
            return f"{value / divisor:.0f}{letter}"
    return f"{value:,.0f}" if value == int(value) or value >= 10 else f"{value:.1f}"


def seconds_text(seconds: float) -> str:
    """Say a duration in at most six characters."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    for divisor, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= divisor * 2:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f} s"
