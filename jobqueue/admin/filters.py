"""Filters whose choices cost no scan of the table."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from jobqueue.handlers import registered
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import of_cause

#: Choices are read from this many of the newest jobs; DISTINCT over all of them would read the whole table.
_NEWEST = 2_000


class _RecentValuesFilter(admin.SimpleListFilter):
    """Offers the values of one column in the newest jobs, and the one that is chosen."""

    parameter_name: str

    def also(self) -> set[str]:
        """Return values to offer in any case."""
        return set()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = ProcessingJob.objects.order_by("-pk").values_list(self.parameter_name, flat=True)[:_NEWEST]
        chosen = {request.GET[self.parameter_name]} if self.parameter_name in request.GET else set()
        return [(value, value) for value in sorted(set(newest) | self.also() | chosen)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.parameter_name: self.value()}) if self.value() else queryset


class JobTypeFilter(_RecentValuesFilter):
    """By job type; those that this process has handlers for are always offered."""

    title = _("job type")
    parameter_name = "job_type"

    def also(self) -> set[str]:
        """Return the registered types."""
        return set(registered())


class QueueFilter(_RecentValuesFilter):
    """By queue."""

    title = _("queue")
    parameter_name = "queue_name"


class CauseFilter(admin.SimpleListFilter):
    """Dead letters of one cause; reached from the page of causes, and shown only then."""

    title = _("cause of death")
    parameter_name = "cause"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        cause = request.GET.get(self.parameter_name)
        return [(cause, cause)] if cause else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() is None:
            return queryset
        return of_cause(queryset, self.value() or "")
