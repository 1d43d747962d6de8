"""How much of the workers' time a tenant had lately."""

from datetime import timedelta

from django.db.models import DurationField, ExpressionWrapper, F, Q, Sum
from django.db.models.functions import Now

from jobqueue.models import ProcessingJob

#: Looked at are the newest jobs, so many of them: then a large table costs no more than a small one.
NEWEST = 1_000
_LATELY = timedelta(hours=1)
_TOOK = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())


def worker_seconds() -> float:
    """Return for how many seconds jobs of the active tenant ran that ended within the last hour.

    Of each job the last attempt counts; of more than ``NEWEST`` jobs the older are left out.
    """
    newest = ProcessingJob.objects.annotate(took=_TOOK).order_by("-pk")[:NEWEST]
    lately = newest.aggregate(seconds=Sum("took", filter=Q(finished_at__gt=Now() - _LATELY)))["seconds"]
    return lately.total_seconds() if lately else 0.0
