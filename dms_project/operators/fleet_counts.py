"""The counts of all tenants' jobs, kept up to date with a bounded effort per look."""

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import Error, connection

from dms_project.operators.worker_time import worker_seconds
from dms_project.tenancy import TenantNotFound, fleet, use
from dms_project.tenancy.models import Tenant
from jobqueue.rows.counts import Counts, count_jobs

#: For one tenant; a table that a migration has locked must not hold up the others.
_STATEMENT_TIMEOUT = "1s"


@dataclass(frozen=True)
class Sample:
    """What was read of one tenant."""

    #: None: it couldn't be read, having no schema, no such table, or a lock on it.
    counts: Counts | None
    #: By the monotonic clock.
    read_at: float
    #: See ``worker_time``.
    worker_seconds: float = 0.0


class FleetCounts:
    """Remembers what was read of each tenant. Not for several threads at once."""

    def __init__(self) -> None:
        #: By tenant; ``public`` is one, too.
        self.samples: dict[str, Sample] = {}
        #: How many tenants have never been looked into.
        self.unread = 0
        #: How many are suspended.
        self.suspended = 0
        #: By the database's clock, when the last refresh began.
        self.now = datetime.min.replace(tzinfo=UTC)

    def refresh(self, seconds: float) -> None:
        """Look into tenants for about so long, first into those that were read longest ago.

        A fleet that takes longer to read comes round with the next calls. Raises on an outage of the database.
        """
        deadline = time.monotonic() + seconds
        names = fleet.names()
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, false), statement_timestamp()", [_STATEMENT_TIMEOUT]
            )
            self.now = cursor.fetchone()[1]
        self.samples = {name: self.samples[name] for name in names if name in self.samples}
        for name in self._by_age(names):
            counts, seconds = _read(name)
            self.samples[name] = Sample(counts, time.monotonic(), seconds)
            if time.monotonic() > deadline:
                break
        self.unread = len(names) - len(self.samples)
        self.suspended = Tenant.objects.exclude(suspended_at=None).count()

    def _by_age(self, names: Iterable[str]) -> Iterator[str]:
        ages = {name: sample.read_at for name, sample in self.samples.items()}
        yield from sorted(names, key=lambda name: ages.get(name, -math.inf))


def _read(name: str) -> tuple[Counts | None, float]:
    try:
        with use(name):
            return count_jobs(), worker_seconds()
    except (TenantNotFound, Error):
        if not connection.is_usable():
            raise
        return None, 0.0
