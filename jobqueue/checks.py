"""System checks: a queue that can't work is said at start-up, with the next step."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router

from jobqueue.conf import conf
from jobqueue.handlers import registered
from jobqueue.models import ProcessingJob
from jobqueue.schedules import declared


@register("jobqueue")
def settings_are_usable(**kwargs: Any) -> list[CheckMessage]:
    """jobqueue.E001 for a setting that can't be used."""
    try:
        conf()
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="Correct settings.JOBQUEUE.", id="jobqueue.E001")]
    return []


@register("jobqueue")
def database_is_postgresql(**kwargs: Any) -> list[CheckMessage]:
    """jobqueue.E002 unless jobs live in PostgreSQL."""
    alias = router.db_for_write(ProcessingJob)
    if connections[alias].vendor != "postgresql":
        return [
            Error(
                f"The queue needs PostgreSQL, but database {alias!r} is {connections[alias].vendor}.",
                hint="Route the app 'jobqueue' to a PostgreSQL database.",
                id="jobqueue.E002",
            )
        ]
    return []


@register("jobqueue")
def times_are_aware(**kwargs: Any) -> list[CheckMessage]:
    """jobqueue.E006 unless Django works with aware times, as the queue does."""
    if settings.USE_TZ:
        return []
    return [
        Error(
            "The queue's times have a time zone, and USE_TZ is off: they could not be compared with the project's.",
            hint="Set USE_TZ = True.",
            id="jobqueue.E006",
        )
    ]


@register("jobqueue")
def schedules_can_be_served(**kwargs: Any) -> list[CheckMessage]:
    """jobqueue.W001 for schedules whose jobs nothing here can run."""
    return [
        Warning(
            f"The schedule {schedule.name!r} enqueues jobs of type {schedule.job_type!r}, which has no handler here.",
            hint="Correct the type, or import the module with its handler from the app's jobs.py.",
            id="jobqueue.W001",
        )
        for schedule in declared().values()
        if schedule.job_type not in registered()
    ]
