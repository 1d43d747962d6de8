"""The jobs of all tenants: the newest that match, read tenant by tenant for a bounded time.

No statement touches two schemas, so that each may live on a node of its own. A fleet that takes longer to read than
a page may take is looked through in parts, in the order of the names.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.db import Error, connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from dms_project.tenancy import TenantNotFound, use
from jobqueue.admin.reach import LARGE, within_reach
from jobqueue.models import ProcessingJob
from jobqueue.rows.counts import Counts, count_jobs

#: So many jobs are shown.
SHOWN = 100
#: A table that a migration has locked must not hold up the others.
_STATEMENT_TIMEOUT = "1s"


@dataclass(frozen=True)
class Wanted:
    """What is looked for."""

    #: ``status__exact``, ``job_type`` and ``queue_name``, as the tenants' own lists call them.
    filters: dict[str, str]
    #: An id, a key, or words of an error; empty: all jobs.
    words: str = ""
    #: Only jobs with lower ids; for one tenant.
    before: int | None = None


@dataclass
class FleetJobs:
    """What was found."""

    #: The newest first, each with its tenant.
    jobs: list[tuple[str, ProcessingJob]] = field(default_factory=list)
    #: Of all tenants that were read, whatever is looked for.
    counts: Counts = field(default_factory=lambda: Counts(0, 0, 0, None, 0))
    #: How many tenants were read.
    tenants: int = 0
    #: Tenants with no schema, no such table or a lock on it.
    unreadable: list[str] = field(default_factory=list)
    #: The first tenant for which no time was left; None: all were looked into.
    next_tenant: str | None = None
    #: Which jobs of a tenant were looked through, if not all.
    reach: str = ""
    #: Some tenant has more than are shown.
    more: bool = False

    def add(self, tenant: str, found: "_Found") -> None:
        """Take in what was found in one tenant."""
        self.tenants += 1
        self.jobs += [(tenant, job) for job in found.jobs]
        self.counts = _sum(self.counts, found.counts)
        self.reach = self.reach or found.reach


@dataclass(frozen=True)
class _Found:
    jobs: list[ProcessingJob]
    counts: Counts
    reach: str


def jobs_in(request: HttpRequest, tenants: Sequence[str], wanted: Wanted, seconds: float) -> FleetJobs:
    """Look into these tenants for about so long, into one in any case."""
    deadline = time.monotonic() + seconds
    fleet = FleetJobs()
    for tenant in tenants:
        if time.monotonic() > deadline and fleet.tenants:
            fleet.next_tenant = tenant
            break
        found = _read(request, tenant, wanted)
        if found is None:
            fleet.unreadable.append(tenant)
        else:
            fleet.add(tenant, found)
    fleet.jobs.sort(key=lambda each: (each[1].created_at, each[1].pk), reverse=True)
    fleet.more = len(fleet.jobs) > SHOWN
    del fleet.jobs[SHOWN:]
    return fleet


def _read(request: HttpRequest, tenant: str, wanted: Wanted) -> _Found | None:
    try:
        with use(tenant), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [_STATEMENT_TIMEOUT])
            counts = count_jobs()
            jobs, reach = _matching(request, wanted, counts)
            return _Found(list(jobs[: SHOWN + 1]), counts, reach)
    except (TenantNotFound, Error):
        if not connection.is_usable():
            raise
        return None


def _matching(request: HttpRequest, wanted: Wanted, counts: Counts) -> tuple[QuerySet[Any], str]:
    jobs = ProcessingJob.objects.filter(**wanted.filters).order_by("-pk").defer(*LARGE)
    if wanted.before is not None:
        jobs = jobs.filter(pk__lt=wanted.before)
    if not wanted.words:
        return within_reach(jobs, wanted.filters, counts)
    as_in_its_own_admin = admin.site.get_model_admin(ProcessingJob).get_search_results
    return as_in_its_own_admin(request, jobs, wanted.words)[0], ""


def _sum(one: Counts, other: Counts) -> Counts:
    return Counts(
        pending=one.pending + other.pending,
        processing=one.processing + other.processing,
        dead_letter=one.dead_letter + other.dead_letter,
        oldest_due=min(filter(None, (one.oldest_due, other.oldest_due)), default=None),
        about=one.about + other.about,
    )
