"""Why a job is not running: a pure function of what is known about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext, ngettext

from jobqueue.states import FINAL, JobStatus

#: A job that has been due for longer, while workers live and none is busy with its queue, waits for something else.
_SOON = timedelta(seconds=10)
#: Of the jobs that hold the slots of a key.
_HOLDERS_NAMED = 3


@dataclass(frozen=True)
class Circumstances:
    """A job, and what decides when it runs. Times by the database's clock."""

    now: datetime
    job_type: str
    queue_name: str
    status: str
    available_at: datetime
    #: Whether this project has a handler for the type; workers of the same release have the same.
    has_handler: bool = True
    paused_since: datetime | None = None
    #: Whether workers are sent to the tenant at all. True without tenants.
    tenant_is_served: bool = True
    #: How many workers show a sign of life; None: here they promise none.
    living_workers: int | None = None
    #: Due jobs that are claimed before this one, counted up to ``ahead_limit``.
    ahead: int = 0
    ahead_limit: int = 1_000
    #: How many jobs of its queue run now.
    running_in_queue: int = 0
    concurrency_key: str | None = None
    concurrency_limit: int = 1
    #: Running jobs with its key, each with its worker; not more than the limit.
    key_holders: Sequence[tuple[int, str]] = ()
    #: It has killed its workers, and is run with nothing beside it.
    runs_alone: bool = False
    locked_by: str | None = None
    #: Whoever runs the job shows no sign of life any more.
    holder_is_gone: bool = False


@dataclass(frozen=True)
class Reason:
    """One thing that keeps a job from running."""

    #: For programs; docs/how-to/runbook.md has an entry for each.
    code: str
    #: For people, one or two sentences, with the next step if there is one.
    text: str
    #: When it passes by itself, if that is known.
    until: datetime | None = None


def why_not_running(job: Circumstances) -> list[Reason]:
    """Return all that keeps the job from running now, what only a person can change first; never empty."""
    if job.status in FINAL:
        return [Reason("finished", gettext("It has ended; nothing runs it again."))]
    if job.status == JobStatus.DEAD_LETTER:
        return [Reason("dead_letter", gettext("It is a dead letter and waits for a person: requeue or discard it."))]
    if job.status == JobStatus.PROCESSING:
        return [_running(job)]
    return [reason for reason in (*_blocked(job), *_waiting(job)) if reason] or [
        Reason("next", gettext("Nothing: it is due, and the next free worker takes it."))
    ]


def _running(job: Circumstances) -> Reason:
    if job.holder_is_gone:
        text = gettext("%(worker)s, which ran it, shows no sign of life: another worker takes it within seconds.")
        return Reason("worker_gone", text % {"worker": job.locked_by})
    return Reason("running", gettext("It is running on %(worker)s.") % {"worker": job.locked_by})


def _blocked(job: Circumstances) -> list[Reason | None]:
    """What time alone doesn't mend."""
    return [
        None
        if job.tenant_is_served
        else Reason("tenant_not_served", gettext("Its tenant is suspended or gone: no worker looks into it.")),
        Reason(
            "queue_paused",
            gettext("The queue %(queue)s has been paused since %(since)s: resume it.")
            % {"queue": job.queue_name, "since": f"{job.paused_since:%Y-%m-%d %H:%M:%S} UTC"},
        )
        if job.paused_since
        else None,
        None
        if job.has_handler
        else Reason(
            "no_handler",
            gettext("Nothing here has a handler for %(type)s: it waits for a worker that has one.")
            % {"type": job.job_type},
        ),
        Reason("no_worker", gettext("No worker is alive: start one with manage.py runworker."))
        if job.living_workers == 0
        else None,
    ]


def _waiting(job: Circumstances) -> list[Reason | None]:
    """What passes by itself, or may."""
    if job.available_at > job.now:
        return [
            Reason(
                "not_due",
                gettext("It is not due before %(time)s.") % {"time": f"{job.available_at:%Y-%m-%d %H:%M:%S} UTC"},
                until=job.available_at,
            )
        ]
    if job.concurrency_key is not None and len(job.key_holders) >= job.concurrency_limit:
        return [_limit_reached(job)]
    return [
        _behind(job) if job.ahead else None,
        Reason("runs_alone", gettext("It has killed its workers, so it waits for one that has nothing else to do."))
        if job.runs_alone
        else None,
        _perhaps_unserved(job),
    ]


def _limit_reached(job: Circumstances) -> Reason:
    shown = [f"{pk} ({worker})" for pk, worker in job.key_holders[:_HOLDERS_NAMED]]
    if len(job.key_holders) > len(shown):
        shown.append("…")
    text = ngettext(
        "Limit reached: at most %(limit)s of key %(key)s runs at once; job %(jobs)s runs.",
        "Limit reached: at most %(limit)s of key %(key)s run at once; jobs %(jobs)s run.",
        job.concurrency_limit,
    )
    values = {"limit": job.concurrency_limit, "key": job.concurrency_key, "jobs": ", ".join(shown)}
    return Reason("limit_reached", text % values)


def _behind(job: Circumstances) -> Reason:
    if job.ahead >= job.ahead_limit:
        text = gettext("At least %(count)s due jobs come before it.")
    else:
        text = ngettext("%(count)s due job comes before it.", "%(count)s due jobs come before it.", job.ahead)
    return Reason("behind_others", text % {"count": f"{job.ahead:,}"})


def _perhaps_unserved(job: Circumstances) -> Reason | None:
    """Nobody tells which queues a worker serves, so this is a guess, and says so."""
    overdue = job.now - job.available_at > _SOON and not (job.ahead or job.running_in_queue or job.runs_alone)
    free_to_run = job.has_handler and job.tenant_is_served and not job.paused_since
    if not (overdue and free_to_run and job.living_workers):
        return None
    text = ngettext(
        "%(count)s worker is alive, and it takes nothing from the queue %(queue)s: it seems to serve other queues, "
        "types or tenants, or hangs.",
        "%(count)s workers are alive, and none takes anything from the queue %(queue)s: they seem to serve other "
        "queues, types or tenants, or hang.",
        job.living_workers,
    )
    return Reason("queue_not_served", text % {"count": job.living_workers, "queue": job.queue_name})
