"""The dead letters of all tenants, grouped by what they died of: an outage that all of them share is one line."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db import Error, connection, transaction

from dms_project.tenancy import TenantNotFound, use
from jobqueue.models import ProcessingJob
from jobqueue.rows.dead_letters import Cause, causes, newest_dead_letters

#: In each tenant its newest dead letters are looked through, up to so many.
REACH = 10_000
#: A table that a migration has locked must not hold up the others.
_STATEMENT_TIMEOUT = "1s"
#: So many tenants of a cause are named.
_NAMED = 5


@dataclass
class FleetCause:
    """The dead letters of one job type whose last error begins with the same line, in all tenants."""

    job_type: str
    cause: str
    jobs: int = 0
    #: The newest of them, by tenant.
    newest_ids: dict[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> list[tuple[str, int]]:
        """Return some tenants, each with its newest id."""
        return list(self.newest_ids.items())[:_NAMED]

    @property
    def not_shown(self) -> int:
        """Return how many tenants that leaves out."""
        return len(self.newest_ids) - len(self.shown)

    @property
    def addresses(self) -> str:
        """Return the newest ids in one text for a form's field, as ``addresses_of`` reads it."""
        return " ".join(f"{tenant}:{newest_id}" for tenant, newest_id in self.newest_ids.items())


@dataclass
class FleetCauses:
    """What was found."""

    #: The most frequent first.
    causes: list[FleetCause]
    #: Tenants with no schema, no such table or a lock on it, and those for which no time was left.
    unread: list[str]
    #: Some tenant has more dead letters than were looked through.
    cut: bool


def causes_in(tenants: Iterable[str], seconds: float) -> FleetCauses:
    """Look into these tenants for about so long."""
    deadline = time.monotonic() + seconds
    groups: dict[tuple[str, str], FleetCause] = {}
    unread, cut = [], False
    for tenant in tenants:
        found = _read(tenant) if time.monotonic() < deadline else None
        if found is None:
            unread.append(tenant)
            continue
        cut = cut or sum(cause.jobs for cause in found) >= REACH
        for cause in found:
            group = groups.setdefault((cause.job_type, cause.cause), FleetCause(cause.job_type, cause.cause))
            group.jobs += cause.jobs
            group.newest_ids[tenant] = cause.newest_id
    most_frequent_first = sorted(groups.values(), key=lambda group: (-group.jobs, group.job_type, group.cause))
    return FleetCauses(most_frequent_first, unread, cut)


def addresses_of(text: str) -> dict[str, int]:
    """Read what ``FleetCause.addresses`` wrote.

    Raises:
        ValueError: It is something else.
    """
    pairs = (word.rpartition(":") for word in text.split())
    return {tenant: int(newest_id) for tenant, _, newest_id in pairs}


def _read(tenant: str) -> list[Cause] | None:
    try:
        with use(tenant), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [_STATEMENT_TIMEOUT])
            return causes(newest_dead_letters(ProcessingJob.objects.all(), REACH))
    except (TenantNotFound, Error):
        if not connection.is_usable():
            raise
        return None
