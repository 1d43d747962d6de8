"""What a filter looks through on a large table: what no index finds is looked for among some of the jobs only."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Max, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from jobqueue.admin.paging import COUNT_LIMIT
from jobqueue.models import ProcessingJob
from jobqueue.rows.counts import LIMIT, Counts
from jobqueue.rows.dead_letters import newest_dead_letters
from jobqueue.rows.pending import first_pending
from jobqueue.states import JobStatus

#: Filters that no index serves look through so many jobs.
NEWEST = 50_000
#: The index of pending jobs isn't in the order of the list: so many of them are sorted.
PENDING = 5_000
#: A payload or a result may have a megabyte, and no list shows either.
LARGE = ("payload", "result", "history")


def within_reach(found: QuerySet[Any], filtered: Mapping[str, Any], counts: Counts) -> tuple[QuerySet[Any], str]:
    """Return those of the ``found`` jobs that can be read fast, and which jobs that looks through, if not all.

    Args:
        filtered: What ``found`` was filtered by: ``status__exact``, ``job_type``, ``queue_name`` or ``cause``.
    """
    if not filtered:
        return found, ""
    status = JobStatus.DEAD_LETTER if "cause" in filtered else filtered.get("status__exact")
    if status == JobStatus.DEAD_LETTER:
        reach = _("the newest %s dead letters") % number(COUNT_LIMIT) if counts.dead_letter > COUNT_LIMIT else ""
        return newest_dead_letters(found, COUNT_LIMIT), reach
    if status == JobStatus.PENDING:
        text = _("%s of the pending jobs; choose a job type to see others")
        return first_pending(found, PENDING), text % number(PENDING) if counts.pending > PENDING else ""
    if status == JobStatus.PROCESSING:
        return found, ""
    newest = ProcessingJob.objects.using(found.db).aggregate(newest=Max("pk"))["newest"] or 0
    reach = _("the newest %s jobs") % number(NEWEST) if newest > NEWEST else ""
    return found.filter(pk__gt=newest - NEWEST), reach


def number(count: int) -> str:
    """Write a number as people do."""
    return number_format(count, force_grouping=True)


def counted(count: int) -> str:
    """Write a number that was counted up to ``LIMIT``."""
    return _("more than %s") % number(LIMIT) if count >= LIMIT else number(count)
