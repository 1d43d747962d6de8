"""What the buttons of the control room do: pause and resume queues and schedules, with an entry of who did it."""

from typing import Any

from django import forms
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext

from jobqueue.control.schedules import set_paused
from jobqueue.exceptions import InvalidJob
from jobqueue.models import NAME_MAX_LENGTH, JobSchedule, PausedQueue
from jobqueue.queue import Queue


class SwitchForm(forms.Form):
    """What a button of a queue, or of a schedule, sends."""

    verb = forms.ChoiceField(choices=[("pause", "pause"), ("resume", "resume")])
    queue_name = forms.CharField(strip=False, max_length=NAME_MAX_LENGTH, required=False)
    schedule = forms.CharField(strip=False, max_length=NAME_MAX_LENGTH, required=False)

    def clean(self) -> dict[str, Any]:
        """Refuse a click on nothing, or on both."""
        values = super().clean() or self.cleaned_data
        if bool(values.get("queue_name")) == bool(values.get("schedule")):
            raise forms.ValidationError("one of the two")
        return values


def switch_queue(request: HttpRequest, verb: str, name: str) -> str:
    """Pause or resume a queue with an audit entry, in one transaction; return what to say.

    Raises:
        BadRequest: That can't be a queue's name.
    """
    queue = Queue()
    try:
        with transaction.atomic(queue.using):
            changed = queue.pause(name) if verb == "pause" else queue.resume(name)
            if changed:
                _record(request, verb, PausedQueue(queue_name=name))
    except InvalidJob as error:
        raise BadRequest("That can't be a queue's name.") from error
    if changed:
        texts = {"pause": gettext("The queue %s is paused."), "resume": gettext("The queue %s is served again.")}
    else:
        texts = {
            "pause": gettext("The queue %s was paused before."),
            "resume": gettext("The queue %s was not paused."),
        }
    return texts[verb] % name


def switch_schedule(request: HttpRequest, verb: str, name: str) -> str:
    """Pause or resume a schedule with an audit entry, in one transaction; return what to say."""
    using = JobSchedule.objects.db
    with transaction.atomic(using):
        changed = set_paused(using, [name], paused=verb == "pause")
        for row in changed:
            _record(request, verb, row)
    if changed:
        texts = {
            "pause": gettext("The schedule %s is paused."),
            "resume": gettext("The schedule %s goes on with its next time."),
        }
    else:
        texts = {
            "pause": gettext("The schedule %s was paused before, or is gone."),
            "resume": gettext("The schedule %s was not paused, or is gone."),
        }
    return texts[verb] % name


def _record(request: HttpRequest, verb: str, what: Model) -> None:
    if request.user.pk is not None:
        said = "Paused in the admin." if verb == "pause" else "Resumed in the admin."
        LogEntry.objects.log_actions(request.user.pk, [what], CHANGE, said)
