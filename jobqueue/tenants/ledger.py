"""The wake-up ledger: which tenants have something to do, from when on. docs/adr/0008 has the protocol and its proof.

Whoever makes a job pending leaves a row here in the same transaction, by a trigger; a tenant's name is its schema's. A
worker that finds a tenant with nothing to do takes the rows away again ("settles" it).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta

from django.db import connections
from django.db.models import DurationField, ExpressionWrapper, F, Min
from django.db.models.functions import Now

from jobqueue.rows.due_jobs import FIRST_DUE, FIRST_DUE_PARAMETERS
from jobqueue.schedules import Schedule
from jobqueue.tenants.due_schedules import take_due, without
from jobqueue.tenants.models import DueSchedule, Wakeup
from jobqueue.tenants.sweep import sweep

#: The first of the two numbers of an advisory lock; the second is made of the tenant's name. Triggers hold it shared
#: until their transaction ends, whoever takes rows away holds it alone.
LOCK_CLASS = 0x4A4F4257  # "JOBW"

#: How far ahead a look reads. So long a tenant in which jobs run, and none is due, is left alone at most.
AHEAD_SECONDS = 10.0
#: A look from the front reads what removed rows have left in the index; that may cost a twentieth of the time.
_FRONT_SHARE = 20
#: How long before the last look from the front a row may have been written that it didn't see, since not committed.
_LATE_SECONDS = 5.0

# Only with snapshots that are newer than the lock is it known what was committed before.
_TAKE_ALONE = """
SELECT current_setting('transaction_isolation') = 'read committed'
   AND pg_try_advisory_xact_lock(%s, hashtext(%s))
"""
# Why SQL: one snapshot for the rows, the due jobs and the running ones, and one round trip instead of five.
_SETTLE = f"""{FIRST_DUE},
gone AS (DELETE FROM public.jobqueue_wakeups WHERE tenant = %(tenant)s AND NOT EXISTS (SELECT FROM due)),
running AS (SELECT %(ahead)s AS seconds FROM processing_jobs WHERE status = 'processing' LIMIT 1),
later AS (SELECT min(seconds) AS seconds FROM (SELECT * FROM next UNION ALL SELECT * FROM running) AS moments),
noted AS (
    INSERT INTO public.jobqueue_wakeups (tenant, due_at)
    SELECT %(tenant)s, statement_timestamp() + make_interval(secs => seconds) FROM later
    WHERE seconds IS NOT NULL AND NOT EXISTS (SELECT FROM due)
)
SELECT NOT EXISTS (SELECT FROM due)
"""  # noqa: S608 - made of constants


class WakeupLedger:
    """The ledger as one thread reads it.

    Args:
        using: The database's alias.
    """

    def __init__(self, using: str) -> None:
        self._using = using
        self._seen: dict[str, float] = {}
        self._front_at = self._front_again_at = float("-inf")

    def look(self) -> Mapping[str, float]:
        """Return the tenants with something to do within ``AHEAD_SECONDS``, each with the moment by ``time.monotonic``.

        While somebody holds an old snapshot, removed rows stay in the index. If a look from the front takes long, the
        next ones read what is new and remember the rest.
        """
        began = time.monotonic()
        rows = Wakeup.objects.using(self._using).filter(due_at__lte=Now() + timedelta(seconds=AHEAD_SECONDS))
        from_the_front = began >= self._front_again_at
        if not from_the_front:
            lag = timedelta(seconds=began - self._front_at + _LATE_SECONDS)
            rows = rows.filter(due_at__gt=Now() - lag)
        until = ExpressionWrapper(Min(F("due_at")) - Now(), output_field=DurationField())
        found = {name: began + left.total_seconds() for name, left in rows.values_list("tenant").annotate(left=until)}
        if from_the_front:
            now = time.monotonic()
            self._front_at, self._front_again_at = began, now + _FRONT_SHARE * (now - began)
            self._seen = found
            return found
        self._seen |= found
        return self._seen

    def settle(self, tenant: str) -> bool:
        """Take the tenant's rows away if nothing is due there, and leave one for what comes later.

        Where jobs run and none is due, somebody is to look again after a while, since their worker may die.

        Returns:
            False if something is due, or if a transaction that enqueues in the tenant has not ended.
        """
        with connections[self._using].cursor() as cursor:
            cursor.execute(_TAKE_ALONE, [LOCK_CLASS, tenant])
            if not cursor.fetchone()[0]:
                return False
            cursor.execute(_SETTLE, FIRST_DUE_PARAMETERS | {"tenant": tenant, "ahead": AHEAD_SECONDS})
            (settled,) = cursor.fetchone()
        if settled:
            self._seen.pop(tenant, None)
        return bool(settled)

    def forget(self, tenant: str) -> None:
        """Take the rows of a tenant away that doesn't exist."""
        for rows in (Wakeup.objects, DueSchedule.objects):
            rows.using(self._using).filter(tenant=tenant).delete()
        self._seen.pop(tenant, None)

    def without_schedules(self, tenants: Sequence[str], declared: Mapping[str, Schedule]) -> Sequence[str]:
        """Return those of the tenants that lack a schedule of theirs, or have it with other times."""
        return without(self._using, tenants, declared.values())

    def take_due_schedules(self, declared: Iterable[str], only: Sequence[str] | None) -> tuple[Sequence[str], float]:
        """Return tenants in which schedules are due, and in how many seconds one is if none is."""
        return take_due(self._using, declared, only)

    def sweep(self, names: Callable[[], Sequence[str]]) -> float:
        """See ``jobqueue.tenants.sweep``."""
        return sweep(self._using, names)
