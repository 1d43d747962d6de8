"""Keep what this worker holds: show its sign of life and renew its locks, whatever its handlers do.

Runs in a thread of its own with a connection of its own, so that neither a busy handler nor a full pool starves it.
"""

import threading
import time
from collections import defaultdict

from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError

from jobqueue import events
from jobqueue.conf import conf
from jobqueue.executor import Claim
from jobqueue.own_session import OwnSession, was_locked_out
from jobqueue.queue import Queue
from jobqueue.sign_of_life import SignOfLife
from jobqueue.tenant_source import TenantSource
from jobqueue.weather import Weather


class Keeper:
    """The claims of one worker, and the loop that keeps them."""

    def __init__(self, queue: Queue, tenants: TenantSource) -> None:
        self._queue = queue
        self._tenants = tenants
        self._sign = SignOfLife(queue.using)
        self._promises = conf().sign_of_life_grace is not None
        self._renewed: dict[Claim, float] = {}
        self._lock = threading.Lock()
        self._done = threading.Event()
        #: Set once the sign of life is shown (or isn't promised): claims may begin.
        self.ready = threading.Event()

    @property
    def holder_key(self) -> int | None:
        """The key of the sign of life, for the rows that are claimed."""
        return self._sign.key if self._promises else None

    def hold(self, claim: Claim) -> None:
        """Begin to renew the claim's lock."""
        with self._lock:
            self._renewed[claim] = time.monotonic()

    def drop(self, claim: Claim) -> None:
        """Stop renewing: the claim has ended."""
        with self._lock:
            self._renewed.pop(claim, None)

    def stop(self) -> None:
        """End the loop."""
        self._done.set()

    def run(self) -> None:
        """Show the sign of life and renew old locks, until stopped."""
        # Ticks are short against the grace time, so that a lost connection is replaced within it.
        stale_after = self._queue.stale_lock_after.total_seconds()
        grace = conf().sign_of_life_grace
        tick = min(1.0, stale_after / 6, grace.total_seconds() / 3 if grace else 1.0)
        weather = Weather(self._queue.using, "keeper", longest_wait=tick)
        session = OwnSession(self._queue.using)
        while not self._done.is_set():
            wait = tick
            try:
                session.prepare()
                if not self._promises or self._sign.show():
                    self.ready.set()
                self._renew(older_than=stale_after / 3)
                weather.good()
            except DatabaseError as error:
                wait = weather.bad(error)
            self._done.wait(wait)

    def _renew(self, older_than: float) -> None:
        now = time.monotonic()
        due: defaultdict[str, list[Claim]] = defaultdict(list)
        with self._lock:
            for claim, renewed in self._renewed.items():
                if now - renewed >= older_than:
                    due[claim.tenant].append(claim)
        for tenant, claims in due.items():
            before = {claim: claim.job.locked_at for claim in claims}
            held = self._renew_in(tenant, claims)
            with self._lock:
                for claim in claims:
                    if claim not in self._renewed or held is None:
                        continue  # recorded meanwhile; or its tenant is in trouble: tried again at the next tick
                    if claim.job.pk not in held:
                        del self._renewed[claim]
                        events.lock_lost(claim, "another worker may have the job, or it was cancelled")
                    elif claim.job.locked_at != before[claim]:
                        # One whose row is locked stays due, and is renewed as soon as its handler's transaction ends.
                        self._renewed[claim] = now

    def _renew_in(self, tenant: str, claims: list[Claim]) -> set[int] | None:
        """Return the ids of the jobs still held, or None if the tenant can't be asked."""
        try:
            with self._tenants.use(tenant):
                return {job.pk for job in self._queue.renew(claim.job for claim in claims)}
        except (OperationalError, InterfaceError) as error:
            if not was_locked_out(error):
                raise
        except Exception as error:  # noqa: BLE001 - the tenant is gone or broken; the others' locks must be renewed
            events.tenant_in_trouble(tenant, error)
        return None
