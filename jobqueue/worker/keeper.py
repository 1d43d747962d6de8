"""Keep what this worker holds, notice what it lost, look for workers that died, and hear wake-ups.

Runs in a thread of its own with a connection of its own, so that neither a busy handler nor a full pool starves it.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.db import Error as DatabaseError
from psycopg import Error as PsycopgError

from jobqueue.conf import conf
from jobqueue.ledger import ledger
from jobqueue.queue import Queue
from jobqueue.rows import fence
from jobqueue.rows.concurrency import unblock_forgotten
from jobqueue.rows.fence import Fate
from jobqueue.rows.pending import without_handler
from jobqueue.sign_of_life import SignOfLife
from jobqueue.tenant_source import TenantSource
from jobqueue.worker import events
from jobqueue.worker.executor import Claim
from jobqueue.worker.listener import Listener
from jobqueue.worker.own_session import OwnSession, is_of_one_tenant
from jobqueue.worker.weather import WEATHER, Weather

T = TypeVar("T")

#: In how many tenants one tick looks for dead workers.
_TENANTS_PER_TICK = 10
#: How soon to look again while some worker is suspected.
_SUSPICIOUS_TICK = 0.25
#: Looking for dead workers takes at most this part of the time: while somebody holds an old snapshot, the index of the
#: running jobs is full of dead entries. But it is done so often at least.
_PART_FOR_THE_DEAD = 1 / 10
_LONGEST_TICK = 30.0
#: How often to look for jobs that wait in vain.
_FORGOTTEN_SECONDS = 60.0
#: How long a claim may be held before it is looked at, again and again so often.
_LOOK_SECONDS = 1.0


class Keeper:
    """The claims of one worker, and the loop that keeps them.

    Args:
        queue: Where the jobs are.
        tenants: Whose jobs are served.
        wake: Called with the name of a tenant in which something may be due, or empty for any.
    """

    def __init__(self, queue: Queue, tenants: TenantSource, wake: Callable[[str], None]) -> None:
        self._queue = queue
        self._tenants = tenants
        self._wake = wake
        self._sign = SignOfLife(queue.using)
        # Both need a session of their own; where a pooler is in between, neither is promised.
        self._promises = conf().sign_of_life_grace is not None
        self._told_of: set[tuple[str, int]] = set()
        self._listener = (
            Listener(queue.using, str(self._sign.key), wake, self._told_of.add)
            if self._promises and conf().listen
            else None
        )
        #: Its connection, for whoever looks after the loop.
        self.session = OwnSession(queue.using, "keeper", queue.stale_lock_after, pooled=not self._promises)
        self._renewed: dict[Claim, float] = {}
        self._sure_seconds = queue.stale_lock_after.total_seconds() * 2 / 3  # it is renewed after one third
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._next_tenant = 0
        self._ledger = ledger(queue.using)
        self._sweep_at = float("-inf")
        self._suspicious = False
        self._look_for_the_dead_at = float("-inf")
        self._forgotten_looked_for: dict[str, float] = {}
        self._strangers: set[tuple[str, str]] = set()
        #: The tenants in which dead workers are looked for; set by whoever knows them.
        self.served: Sequence[str] = ()
        #: Ends the run of a claim that is over, and returns whether there is one; set by whoever runs them.
        self.end_run: Callable[[Claim], bool] = lambda claim: False
        #: How often its connection has been in trouble.
        self.outages = 0
        #: Set while the sign of life is shown, or isn't promised and the database answers: claims may be made.
        self.ready = threading.Event()

    @property
    def holder_key(self) -> int | None:
        """The key of the sign of life, for the rows that are claimed."""
        return self._sign.key if self._promises else None

    @property
    def hears(self) -> bool:
        """Whether wake-ups are known to come, so that polling can be rare."""
        return self._listener is not None and self._listener.hears

    def hold(self, claims: Sequence[Claim]) -> None:
        """Begin to renew the claims' locks."""
        now = time.monotonic()
        with self._lock:
            self._renewed.update(dict.fromkeys(claims, now))
        for claim in claims:
            claim.sure_until = now + self._sure_seconds

    def drop(self, claims: Iterable[Claim]) -> None:
        """Stop renewing: the claims have ended."""
        with self._lock:
            for claim in claims:
                self._renewed.pop(claim, None)

    def stop(self) -> None:
        """End the loop."""
        self._done.set()

    def run(self) -> None:
        """Show the sign of life, renew old locks, rescue and listen, until stopped."""
        # Ticks are short against the grace time, so that a lost connection is replaced within it.
        stale_after = self._queue.stale_lock_after
        grace = conf().sign_of_life_grace
        tick = min(timedelta(seconds=1), stale_after / 6, grace / 3 if grace else stale_after).total_seconds()
        weather = Weather(self._queue.using, "keeper", longest_wait=tick)
        while not self._done.is_set():
            try:
                self.session.prepare()
                if not self._promises or self._sign.show():
                    self.ready.set()
                if self._listener:
                    self._listener.prepare()
                self._look_at_held(renew_older_than=stale_after.total_seconds() / 3)
                self._look_for_the_dead()
                self._sweep()
                weather.good()
                self.session.rest()
                self._listen(min(tick, _SUSPICIOUS_TICK) if self._suspicious else tick)
            except DatabaseError as error:
                self._in_trouble(weather.bad(error))
            except PsycopgError as error:  # from listening, which Django doesn't wrap
                self._in_trouble(weather.bad(error))

    def _in_trouble(self, wait: float) -> None:
        self.outages += 1
        self.ready.clear()
        self.session.rest()
        if self._listener:
            self._listener.lost()
        self._done.wait(wait)

    def _listen(self, seconds: float) -> None:
        if self._listener and self.ready.is_set():
            self._listener.wait(seconds, self._done)
        else:
            self._done.wait(seconds)

    # The locks of this worker

    def _look_at_held(self, renew_older_than: float) -> None:
        """Renew old locks, and end the runs of claims that are over."""
        now = time.monotonic()
        told_of = set(self._told_of)
        self._told_of.clear()
        old: defaultdict[str, list[Claim]] = defaultdict(list)
        young: defaultdict[str, list[Claim]] = defaultdict(list)
        with self._lock:
            for claim, renewed in self._renewed.items():
                if now - renewed >= renew_older_than:
                    old[claim.tenant].append(claim)
                elif now - renewed >= _LOOK_SECONDS or (claim.tenant, claim.job.pk) in told_of:
                    young[claim.tenant].append(claim)
        for tenant in {*old, *young}:
            self._in(tenant, partial(self._end_what_is_over, [*old[tenant], *young[tenant]]))
            if old[tenant]:
                self._renew(tenant, old[tenant], now)

    def _end_what_is_over(self, claims: list[Claim]) -> None:
        for claim, fate in zip(claims, fence.fates(self._queue.using, [claim.job for claim in claims]), strict=True):
            if fate is Fate.HELD:
                continue
            with self._lock:
                known = self._renewed.pop(claim, None) is not None
            # One that has ended meanwhile, or was completed by its own handler, is whoever records endings' business.
            if known and fate is not Fate.COMPLETED and self.end_run(claim):
                if fate is Fate.CANCELLED:
                    events.cancelled(claim)
                else:
                    events.lock_lost(claim, "another worker has the job; its handler is being stopped")

    def _renew(self, tenant: str, claims: list[Claim], now: float) -> None:
        before = {claim: claim.job.locked_at for claim in claims}
        self._in(tenant, lambda: self._queue.renew(claim.job for claim in claims))
        with self._lock:
            for claim in claims:
                # One whose row is locked stays due, and is renewed as soon as its handler's transaction ends.
                if claim in self._renewed and claim.job.locked_at != before[claim]:
                    self._renewed[claim] = now
                    claim.sure_until = now + self._sure_seconds

    # The jobs of workers that died

    def _look_for_the_dead(self) -> None:
        """Look into some tenants, in turn; all of them within a tick if they are few."""
        served = self.served
        began = time.monotonic()
        if began < self._look_for_the_dead_at:
            return
        self._suspicious = False
        for _ in range(min(len(served), _TENANTS_PER_TICK)):
            self._next_tenant = (self._next_tenant + 1) % len(served)
            tenant = served[self._next_tenant]
            if self._in(tenant, self._queue.suspects_workers):
                self._suspicious = True
                if self._in(tenant, partial(self._queue.rescue, patient=True)):
                    self._wake(tenant)
            self._look_for_the_forgotten(tenant, began)
        now = time.monotonic()
        self._look_for_the_dead_at = now + min((now - began) / _PART_FOR_THE_DEAD - (now - began), _LONGEST_TICK)

    def _look_for_the_forgotten(self, tenant: str, now: float) -> None:
        """Unblock what has a free slot, and say once of each type that jobs wait which nobody here can do."""
        if now - self._forgotten_looked_for.setdefault(tenant, now) < _FORGOTTEN_SECONDS:
            return
        self._forgotten_looked_for[tenant] = now
        self._in(tenant, partial(unblock_forgotten, self._queue.using))
        for job_type, count in (self._in(tenant, partial(without_handler, self._queue.using)) or {}).items():
            if (tenant, job_type) not in self._strangers:
                self._strangers.add((tenant, job_type))
                events.nobody_can_run(tenant, job_type, count)

    def _sweep(self) -> None:
        if self._ledger and time.monotonic() >= self._sweep_at:
            with self.session.bounded():
                self._sweep_at = time.monotonic() + self._ledger.sweep(self._tenants.names)

    def _in(self, tenant: str, ask: Callable[[], T]) -> T | None:
        """Ask something inside a tenant; None if that is in trouble."""
        try:
            with self._tenants.use(tenant), self.session.bounded():
                return ask()
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
        except Exception:  # noqa: BLE001, S110 - it is gone or broken, which the dispatcher says; the others go on
            pass
        return None
