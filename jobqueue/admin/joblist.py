"""The list of jobs, fast on any number of them."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from jobqueue.admin.reach import LARGE, counted, number, within_reach
from jobqueue.queue import Queue
from jobqueue.rows.counts import Counts, count_all, count_jobs
from jobqueue.rows.pending import without_handler
from jobqueue.states import JobStatus


class JobList(ChangeList):
    """What Django's list asks for, within bounds; ``reach`` says to people which these are."""

    #: Which jobs a filter looked through, if not all.
    reach = ""

    @cached_property
    def counts(self) -> Counts:
        """How much waits, runs and died, whatever is filtered."""
        return count_jobs(self.root_queryset.db)

    @property
    def tallies(self) -> list[tuple[str, str, str]]:
        """How many jobs there are in each unfinished status: the status, a number, and what it counts."""
        return tallies(self.counts)

    @property
    def in_all(self) -> str:
        """How many jobs there are, as exactly as that is cheap."""
        jobs, is_exact = count_all(self.root_queryset.db, self.counts)
        return number(jobs) if is_exact else _("about %s") % number(jobs)

    @cached_property
    def without_handler(self) -> list[tuple[str, str]]:
        """Types that this process has no handler for, each with how many jobs are pending."""
        return [(job_type, number(jobs)) for job_type, jobs in without_handler(self.root_queryset.db).items()]

    @cached_property
    def paused_queues(self) -> list[str]:
        """Queues that nobody serves for now."""
        return Queue(self.root_queryset.db).paused_queues()

    def get_ordering_field(self, field_name: Any) -> Any:
        """Sort by nothing else than the page offers: the address could name a column without an index."""
        return super().get_ordering_field(field_name) if field_name in (self.sortable_by or ()) else None

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return what the filters leave. An action that is carried out reaches all of it, a page that is shown some."""
        found = super().get_queryset(request, exclude_parameters).defer(*LARGE)
        if self.query or request.method == "POST":
            return found
        filtered = {name: self.params[name] for name in self.get_filters_params()}
        within, self.reach = within_reach(found, filtered, self.counts)
        return within


def tallies(counts: Counts) -> list[tuple[str, str, str]]:
    """Return the status, the number and the name of each kind of unfinished jobs."""
    return [
        (JobStatus.PENDING, counted(counts.pending), _("pending")),
        (JobStatus.PROCESSING, counted(counts.processing), _("processing")),
        (JobStatus.DEAD_LETTER, counted(counts.dead_letter), _("dead letters")),
    ]
