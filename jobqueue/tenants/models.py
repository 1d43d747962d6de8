"""The shared tables, which lie in ``public`` and are addressed so: a tenant's search_path never contains that."""

from django.db import models
from django.db.models.functions import Now

from jobqueue.models import NAME_MAX_LENGTH, TIMETABLE_MAX_LENGTH


class Wakeup(models.Model):
    """Says that a tenant is to be looked into from ``due_at`` on. Written by triggers, consumed by ``ledger.py``.

    A tenant may have several; one that has none has neither due nor running jobs, nor any for later.
    """

    tenant = models.CharField(max_length=NAME_MAX_LENGTH, help_text="the schema's name")
    due_at = models.DateTimeField()

    class Meta:
        db_table = '"public"."jobqueue_wakeups"'
        managed = False  # one table for all schemas: the migration, which runs in each of them, makes it once

    def __str__(self) -> str:
        return f"{self.tenant} from {self.due_at}"


class Sweep(models.Model):
    """How far the fleet has come in looking into every tenant, whatever the ledger says. One row."""

    after = models.CharField(max_length=NAME_MAX_LENGTH, help_text="the last tenant that was looked into")
    due_at = models.DateTimeField(db_default=Now())

    class Meta:
        db_table = '"public"."jobqueue_sweep"'
        managed = False

    def __str__(self) -> str:
        return f"after {self.after!r} from {self.due_at}"


class DueSchedule(models.Model):
    """When a tenant's schedule is next due: a copy for the whole fleet to read, which triggers keep.

    Whoever looks after it puts ``due_at`` off a little first, so that no other worker does the same.
    """

    tenant = models.CharField(max_length=NAME_MAX_LENGTH, help_text="the schema's name")
    name = models.CharField(max_length=NAME_MAX_LENGTH)
    timetable = models.CharField(max_length=TIMETABLE_MAX_LENGTH)
    in_code = models.BooleanField()
    due_at = models.DateTimeField(null=True)

    class Meta:
        db_table = '"public"."jobqueue_due_schedules"'
        managed = False

    def __str__(self) -> str:
        return f"{self.name} of {self.tenant} from {self.due_at}"
