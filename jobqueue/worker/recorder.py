"""The loop that writes down how jobs ended, on a connection of its own.

So claiming and recording overlap: while one of the two waits for the disk, the other goes on. At load many jobs share
one commit.
"""

import queue as queues
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from django.db import Error as DatabaseError

from jobqueue.conf import conf
from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource, everybody
from jobqueue.worker import events
from jobqueue.worker.connection_hygiene import drop_connection
from jobqueue.worker.executor import Claim, Ending
from jobqueue.worker.holdings import Holdings
from jobqueue.worker.keeper import Keeper
from jobqueue.worker.own_session import OwnSession, is_of_one_tenant, passes_by
from jobqueue.worker.recording import record
from jobqueue.worker.weather import WEATHER, Weather

#: How often endings are recorded while the threads have enough to do; others see an ending so much later.
_PACE_SECONDS = 0.01
#: How soon what could not be written is tried again: because something is locked, or for another reason.
_LOCKED_SECONDS = 0.25
_TROUBLE_SECONDS = 1.0
#: Where so many in a row can't be written, the others aren't tried until the next time: it is the tenant's trouble.
_ENOUGH_FAILURES = 2


@dataclass
class _Unrecorded:
    """The endings of one tenant that are not on record."""

    endings: list[Ending] = field(default_factory=list)
    #: Those that failed by themselves, and since when: they are no longer written together with others.
    apart: dict[Claim, float] = field(default_factory=dict)
    #: When to try again: all of them, and those apart.
    again_at: float = 0.0
    apart_again_at: float = 0.0
    #: Whether the log has it that some can't be written.
    told: bool = False

    @property
    def together(self) -> list[Ending]:
        """Those that nothing is known to be wrong with."""
        return [ending for ending in self.endings if ending.claim not in self.apart]

    def put_last(self, ending: Ending) -> None:
        self.endings.remove(ending)
        self.endings.append(ending)

    def forget(self, claims: set[Claim]) -> None:
        self.endings = [ending for ending in self.endings if ending.claim not in claims]
        for claim in claims & self.apart.keys():
            del self.apart[claim]
        self.told = self.told and bool(self.apart)  # the next trouble is to be told again


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
        self._unrecorded: defaultdict[str, _Unrecorded] = defaultdict(_Unrecorded)
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
            self._unrecorded[ending.claim.tenant].endings.append(ending)
        if self._keeper.ready.is_set():
            self.session.follow(self._keeper.outages)
        # Those in trouble last: they may cost time.
        for tenant in sorted(self._unrecorded, key=lambda name: self._unrecorded[name].again_at):
            if self._unrecorded[tenant].again_at <= time.monotonic():
                self._record(tenant, self._unrecorded[tenant])
        if self._unrecorded:
            return _LOCKED_SECONDS
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

    def _record(self, tenant: str, unrecorded: _Unrecorded) -> None:
        together = unrecorded.together
        error = self._write(tenant, together)
        if error is None:
            unrecorded.again_at = 0.0
        elif passes_by(error):
            unrecorded.again_at = time.monotonic() + _LOCKED_SECONDS
            return
        else:  # one of them can't be written, or none
            now = time.monotonic()
            unrecorded.apart |= {ending.claim: now for ending in together}
            unrecorded.apart_again_at = now
        if unrecorded.apart and unrecorded.apart_again_at <= time.monotonic():
            self._record_apart(tenant, unrecorded)

    def _record_apart(self, tenant: str, unrecorded: _Unrecorded) -> None:
        """Write each by itself; whoever can't be written comes last the next time."""
        failures, recorded_some = 0, False
        trouble: Exception | None = None
        for ending in [ending for ending in unrecorded.endings if ending.claim in unrecorded.apart]:
            error = self._write(tenant, [ending])
            if error is None:
                failures, recorded_some = 0, True
                continue
            unrecorded.put_last(ending)
            trouble = error
            failures += 1
            if failures == _ENOUGH_FAILURES:
                break
        unrecorded.apart_again_at = time.monotonic() + _TROUBLE_SECONDS
        if trouble is not None:
            if not recorded_some:
                unrecorded.again_at = unrecorded.apart_again_at
            self._call_in_trouble(tenant, unrecorded, trouble)

    def _write(self, tenant: str, endings: Sequence[Ending]) -> Exception | None:
        """Write endings down; return what keeps these from being written, and perhaps all of the tenant's.

        Raises:
            django.db.Error: The connection is in trouble.
        """
        if not endings:
            return None
        self.session.prepare()
        try:
            with self._tenants.use(tenant), self.session.transaction():
                recorded = record(self._queue, endings)
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
            return error
        except DatabaseError as error:  # no such table, not migrated, a value that the database refuses
            return error
        except Exception as error:  # noqa: BLE001 - no schema, or worse
            drop_connection(self._queue.using)
            return error
        self._settle(tenant, recorded.ended)
        recorded.tell()
        return None

    def _settle(self, tenant: str, ended: set[Claim]) -> None:
        """Forget what is on record, or never will be."""
        unrecorded = self._unrecorded[tenant]
        unrecorded.forget(ended)
        if not unrecorded.endings:
            del self._unrecorded[tenant]
        self._keeper.drop(ended)
        self._holdings.settle(ended)
        if not self._holdings:
            self._told()

    def _call_in_trouble(self, tenant: str, unrecorded: _Unrecorded, error: Exception) -> None:
        """Try on for as long as a lock lasts that nobody renews; a tenant that is gone needs no endings any more."""
        if tenant not in everybody(self._tenants):  # one that is suspended isn't gone
            claims = {ending.claim for ending in unrecorded.endings}
            events.tenant_gone(tenant, len(claims))
            self._settle(tenant, claims)
            return
        if not unrecorded.told:
            events.recorded_later(tenant, len(unrecorded.apart), error)
            unrecorded.told = True
        patience = self._queue.stale_lock_after.total_seconds()
        now = time.monotonic()
        lost = {claim for claim, since in unrecorded.apart.items() if now - since > patience}
        for claim in lost:
            events.not_recorded(claim, error)
        if lost:
            self._settle(tenant, lost)
