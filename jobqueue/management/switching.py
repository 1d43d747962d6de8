"""``manage.py jobs pause`` and ``resume``: queues, and schedules."""

from typing import Any

from django.core.management.base import CommandError

from jobqueue.control.schedules import set_paused
from jobqueue.models import JobSchedule
from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource


def switch(options: dict[str, Any]) -> list[str]:
    """Pause or resume queues or schedules of the active tenant, and return what was not so before.

    Raises:
        InvalidJob: That can't be a queue's name.
    """
    pausing = options["verb"] == "pause"
    if options["schedule"]:
        return [row.name for row in set_paused(JobSchedule.objects.db, options["schedule"], paused=pausing)]
    act = Queue().pause if pausing else Queue().resume
    return [queue for queue in options["queues"] if act(queue)]


def demand_schedules(tenants: TenantSource, names: list[str], wanted: list[str]) -> None:
    """Refuse a schedule that none of these tenants has: a slip of the pen must not look like success.

    Raises:
        CommandError: It names them.
    """
    known: set[str] = set()
    for name in names:
        with tenants.use(name):
            known |= set(JobSchedule.objects.filter(name__in=wanted).values_list("name", flat=True))
    if missing := sorted(set(wanted) - known):
        raise CommandError(
            f"No schedule {', '.join(missing)} has begun here; nothing was changed. See 'manage.py jobs schedules'."
        )
