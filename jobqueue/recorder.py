"""The loop that writes down how jobs ended, on a connection of its own.

So claiming and recording overlap: while one of the two waits for the disk, the other goes on. At load many jobs share
one commit.
"""

import queue as queues
import time
from collections import defaultdict
from collections.abc import Callable, Sequence

from django.db import Error as DatabaseError

from jobqueue import events
from jobqueue.conf import conf
from jobqueue.connection_hygiene import drop_connection
from jobqueue.executor import Claim, Ending
from jobqueue.holdings import Holdings
from jobqueue.keeper import Keeper
from jobqueue.own_session import OwnSession, is_of_one_tenant, passes_by
from jobqueue.queue import Queue
from jobqueue.recording import record
from jobqueue.tenant_source import TenantSource
from jobqueue.weather import WEATHER, Weather

#: How often endings are recorded while the threads have enough to do; others see an ending so much later.
_PACE_SECONDS = 0.01
#: How soon what could not be written is tried again: because a row is locked, or for another reason.
_LOCKED_SECONDS = 0.25
_TROUBLE_SECONDS = 1.0


class Recorder:
    """Records endings soon, together, and until it has succeeded or it is certain that it can't.

    Args:
        queue: Where the jobs are.
        tenants: Whose jobs are served.
        holdings: Where the endings come in.
        keeper: Keeps the claims until their endings are on record.
        busy: Returns whether the threads have enough to do, so that more endings will come soon.
        told: Called when nothing is held any more.
    """

    def __init__(
        self,
        queue: Queue,
        tenants: TenantSource,
        holdings: Holdings,
        keeper: Keeper,
        busy: Callable[[], bool],
        told: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._tenants = tenants
        self._holdings = holdings
        self._keeper = keeper
        self._busy = busy
        self._told = told
        #: Its connection, for whoever looks after the loop.
        self.session = OwnSession(
            queue.using, "recorder", queue.stale_lock_after, pooled=conf().sign_of_life_grace is None
        )
        self._unrecorded: defaultdict[str, list[Ending]] = defaultdict(list)
        # Since when an ending can't be written.
        self._in_trouble_since: dict[Claim, float] = {}
        self._bell: queues.SimpleQueue[None] = queues.SimpleQueue()
        self._resting = False
        self._done = False

    def ended(self, ending: Ending) -> None:
        """Note an ending; called from the thread that ran the job. Rings if nobody else will in time."""
        self._holdings.end(ending)
        if self._resting or not self._busy():
            self._bell.put(None)

    def stop(self) -> None:
        """End the loop."""
        self._done = True
        self._bell.put(None)

    def run(self) -> None:
        """Record what ends, until stopped."""
        weather = Weather(self._queue.using, "recorder", longest_wait=5.0)
        while not self._done:
            try:
                wait = self._turn()
                if self.session.has_asked:
                    weather.good()
            except DatabaseError as error:
                wait = weather.bad(error)
            self.session.rest()
            self._wait(wait)

    def _turn(self) -> float | None:
        """Record what has ended, and return the seconds until the next turn; None: when something ends."""
        self._resting = False
        for ending in self._holdings.endings():
            self._unrecorded[ending.claim.tenant].append(ending)
        if self._keeper.ready.is_set():
            self.session.follow(self._keeper.outages)
        for tenant in list(self._unrecorded):
            self.session.prepare()
            self._record(tenant)
        if self._unrecorded:
            return _TROUBLE_SECONDS if self._in_trouble_since else _LOCKED_SECONDS
        return _PACE_SECONDS if self._busy() else None

    def _wait(self, seconds: float | None) -> None:
        if seconds is None:
            self._resting = True
            if self._holdings.has_endings:
                return  # they came before it could be seen that nobody is awake
        try:
            self._bell.get(timeout=seconds)
            while True:
                self._bell.get_nowait()
        except queues.Empty:
            pass

    # One tenant

    def _record(self, tenant: str) -> None:
        try:
            self._write(tenant, self._unrecorded[tenant])
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
            self._record_one_by_one(tenant, error)
        except Exception as error:  # noqa: BLE001 - no schema, not migrated, an ending that can't be written
            drop_connection(self._queue.using)
            self._record_one_by_one(tenant, error)

    def _write(self, tenant: str, endings: Sequence[Ending]) -> None:
        with self._tenants.use(tenant), self.session.transaction():
            recorded = record(self._queue, endings)
        self._settle(tenant, recorded.ended)
        recorded.tell()

    def _settle(self, tenant: str, ended: set[Claim]) -> None:
        """Forget what is on record, or never will be."""
        left = [ending for ending in self._unrecorded.pop(tenant) if ending.claim not in ended]
        if left:
            self._unrecorded[tenant] = left
        for claim in ended & self._in_trouble_since.keys():
            del self._in_trouble_since[claim]
        self._keeper.drop(ended)
        self._holdings.settle(ended)
        if not self._holdings:
            self._told()

    def _record_one_by_one(self, tenant: str, error: Exception) -> None:
        """One ending can't be written, or none: the tenant's table is locked, or missing for a moment.

        Of those that wait for a lock or for room on a disk one is tried, and comes last then.
        """
        for ending in self._unrecorded[tenant].copy():
            try:
                self.session.prepare()
                self._write(tenant, [ending])
            except WEATHER as trouble:
                if not is_of_one_tenant(trouble):
                    raise
                if passes_by(trouble):
                    waiting = self._unrecorded[tenant]
                    waiting.remove(ending)
                    waiting.append(ending)
                    return
            except Exception:  # noqa: BLE001 - as above, and said below
                drop_connection(self._queue.using)
        if tenant in self._unrecorded:
            self._call_in_trouble(tenant, error)

    def _call_in_trouble(self, tenant: str, error: Exception) -> None:
        """Try on for as long as a lock lasts that nobody renews; a tenant that is gone needs no endings any more."""
        now = time.monotonic()
        claims = {ending.claim for ending in self._unrecorded[tenant]}
        if tenant not in self._tenants.names():
            events.tenant_gone(tenant, len(claims))
            self._settle(tenant, claims)
            return
        if not claims & self._in_trouble_since.keys():
            events.recorded_later(tenant, len(claims), error)
        for claim in claims:
            self._in_trouble_since.setdefault(claim, now)
        patience = self._queue.stale_lock_after.total_seconds()
        lost = {claim for claim in claims if now - self._in_trouble_since[claim] > patience}
        for claim in lost:
            events.not_recorded(claim, error)
        if lost:
            self._settle(tenant, lost)
