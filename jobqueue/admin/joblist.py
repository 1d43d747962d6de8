"""The list of jobs, fast on any number of them: what no index finds is looked for among some of them only."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import Max, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from jobqueue.admin.paging import COUNT_LIMIT
from jobqueue.counts import LIMIT, Counts, count_all, count_jobs
from jobqueue.dead_letters import newest_dead_letters
from jobqueue.models import ProcessingJob
from jobqueue.pending import first_pending, without_handler
from jobqueue.queue import Queue
from jobqueue.states import JobStatus

#: Filters that no index serves look through so many jobs.
NEWEST = 50_000
#: The index of pending jobs isn't in the order of the list: so many of them are sorted.
PENDING = 5_000
#: A payload or a result may have a megabyte, and the list shows neither.
_LARGE = ("payload", "result", "history")


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
        counts = self.counts
        return [
            (JobStatus.PENDING, _number(counts.pending), "pending"),
            (JobStatus.PROCESSING, _number(counts.processing), "processing"),
            (JobStatus.DEAD_LETTER, _number(counts.dead_letter), "dead letters"),
        ]

    @property
    def in_all(self) -> str:
        """How many jobs there are, as exactly as that is cheap."""
        number, is_exact = count_all(self.root_queryset.db, self.counts)
        return f"{number:,}" if is_exact else f"about {number:,}"

    @cached_property
    def without_handler(self) -> list[tuple[str, str]]:
        """Types that this process has no handler for, each with how many jobs are pending."""
        return [(job_type, f"{jobs:,}") for job_type, jobs in without_handler(self.root_queryset.db).items()]

    @cached_property
    def paused_queues(self) -> list[str]:
        """Queues that nobody serves for now."""
        return Queue(self.root_queryset.db).paused_queues()

    def get_ordering_field(self, field_name: Any) -> Any:
        """Sort by nothing else than the page offers: the address could name a column without an index."""
        return super().get_ordering_field(field_name) if field_name in (self.sortable_by or ()) else None

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Return what the filters leave. An action that is carried out reaches all of it, a page that is shown some."""
        found = super().get_queryset(request, exclude_parameters).defer(*_LARGE)
        filtered = self.get_filters_params()
        if self.query or not filtered or request.method == "POST":
            return found
        status = JobStatus.DEAD_LETTER if "cause" in filtered else self.params.get("status__exact")
        if status == JobStatus.DEAD_LETTER:
            if self.counts.dead_letter > COUNT_LIMIT:
                self.reach = f"the newest {COUNT_LIMIT:,} dead letters"
            return newest_dead_letters(found, COUNT_LIMIT)
        if status == JobStatus.PENDING:
            if self.counts.pending > PENDING:
                self.reach = f"{PENDING:,} of the pending jobs; choose a job type to see others"
            return first_pending(found, PENDING)
        if status == JobStatus.PROCESSING:
            return found
        newest = ProcessingJob.objects.using(found.db).aggregate(newest=Max("pk"))["newest"] or 0
        if newest > NEWEST:
            self.reach = f"the newest {NEWEST:,} jobs"
        return found.filter(pk__gt=newest - NEWEST)


def _number(count: int) -> str:
    return f"more than {LIMIT:,}" if count >= LIMIT else f"{count:,}"
