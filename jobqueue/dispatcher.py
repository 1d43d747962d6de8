"""The loop that claims jobs for free slots and records how they ended, on one connection of its own."""

import queue as queues
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from django.db import Error as DatabaseError
from django.db import InterfaceError, InternalError, OperationalError, connections

from jobqueue import events
from jobqueue.conf import conf
from jobqueue.exceptions import LockLost
from jobqueue.executor import Claim, Ending, execute
from jobqueue.keeper import Keeper
from jobqueue.lonely import Lonely
from jobqueue.own_session import OwnSession, was_locked_out
from jobqueue.queue import Queue
from jobqueue.slots import Slots
from jobqueue.tenant_source import TenantSource
from jobqueue.weather import Weather

T = TypeVar("T")

# What passes by itself: a lost connection, a restart, a server that is read-only for now (InternalError).
_WEATHER = (OperationalError, InterfaceError, InternalError)
#: How soon to look again while the keeper has no sign of life to show yet.
_NOT_READY_SECONDS = 0.02
#: How long the list of tenants is believed.
_TENANTS_FRESH_SECONDS = 2.0


@dataclass(frozen=True)
class Service:
    """What a worker serves, and by which name."""

    name: str
    concurrency: int
    job_types: Sequence[str]
    queue_names: Sequence[str] | None = None  # None: every queue
    only_tenants: Sequence[str] | None = None  # None: every tenant
    drain: bool = False  # end when nothing is due


class Dispatcher:
    """Claims no more than there are free slots, so that nothing is hoarded."""

    def __init__(self, service: Service, queue: Queue, tenants: TenantSource, keeper: Keeper) -> None:
        self._service = service
        self._queue = queue
        self._tenants = tenants
        self._keeper = keeper
        self._slots = Slots(service.concurrency, lambda claim: execute(claim, queue, tenants), self._report)
        self._news: queues.SimpleQueue[Ending | None] = queues.SimpleQueue()
        self._running: set[Claim] = set()
        self._unrecorded: list[Ending] = []
        self._names: list[str] = []
        self._names_read_at = float("-inf")
        self._ailing: set[str] = set()
        self._lonely = Lonely()
        self._session = OwnSession(queue.using)
        # Plain flags, since a signal handler sets them: an Event's lock may be held by the code it interrupts.
        self._stopping = False
        self._giving_back = False
        #: Set when nothing runs and everything is recorded, after a stop or a drain; or when jobs were given back.
        self.finished = threading.Event()

    @property
    def tenants_in_trouble(self) -> int:
        """How many tenants could not be looked into at the last try."""
        return len(self._ailing)

    @property
    def running(self) -> int:
        """How many jobs are held."""
        return len(self._running)

    def stop(self) -> None:
        """Claim no more; finish when the running jobs have ended. Safe to call from a signal handler."""
        self._stopping = True
        self._news.put(None)

    def give_back(self) -> None:
        """Release what still runs and finish now; the caller must then end the process."""
        self._giving_back = True
        self.stop()

    def run(self) -> None:
        """Claim, record and wait until finished."""
        if self.finished.is_set():
            return
        self._slots.start()
        weather = Weather(self._queue.using, "dispatcher", longest_wait=5.0)
        while not self.finished.is_set():
            try:
                wait = self._turn()
                weather.good()
            except DatabaseError as error:
                wait = weather.bad(error)
            if not self.finished.is_set():
                self._listen(wait)
        self._slots.stop()

    # One turn, in calling order

    def _turn(self) -> float:
        """Record, claim, and return the seconds until the next look if nothing happens.

        The database is asked only for what has to be done: an idle worker can be stopped while it is away.
        """
        if self._unrecorded:
            self._session.prepare()
            self._record()
        if self._giving_back:
            self._release_all()
            self.finished.set()
        elif self._stopping:
            self._finish_if_idle()
        elif not self._keeper.ready.is_set():
            return _NOT_READY_SECONDS
        else:
            self._session.prepare()
            if not self._claim_round() and self._service.drain:
                self._finish_if_idle()
        return conf().poll_interval.total_seconds() * random.uniform(0.8, 1.2)  # noqa: S311 - jitter, no secret

    def _record(self) -> None:
        """Write the endings. Those that can't be written for now stay for the next turn."""
        waiting: list[Ending] = []
        try:
            while self._unrecorded:
                ending = self._unrecorded[0]
                if self._try_to_record(ending):
                    self._keeper.drop(ending.claim)
                    self._running.discard(ending.claim)
                else:
                    waiting.append(ending)
                self._unrecorded.pop(0)
        finally:
            self._unrecorded[:0] = waiting

    def _try_to_record(self, ending: Ending) -> bool:
        """Return False if the tenant's table is locked. Raises on database trouble."""
        try:
            with self._tenants.use(ending.claim.tenant):
                self._record_one(ending)
        except LockLost:
            events.lock_lost(ending.claim, "what it did is not recorded")
        except _WEATHER as error:
            if not was_locked_out(error):
                raise
            return False
        except Exception:  # noqa: BLE001 - one job must not stop the recording of the others
            events.not_recorded(ending.claim)
        return True

    def _record_one(self, ending: Ending) -> None:
        job = ending.claim.job
        if ending.error is None:
            self._queue.complete(job, ending.result)
            events.succeeded(ending)
            return
        status = self._queue.fail(job, ending.error, retry=ending.may_retry)
        events.failed(ending, status)

    def _release_all(self) -> None:
        by_tenant: dict[str, list[Claim]] = {}
        for claim in self._running:
            by_tenant.setdefault(claim.tenant, []).append(claim)
        for tenant, claims in by_tenant.items():
            try:
                with self._tenants.use(tenant):
                    self._queue.release([claim.job for claim in claims])
            except (OperationalError, InterfaceError):
                raise
            except Exception as error:  # noqa: BLE001 - one tenant in trouble must not keep the others' jobs
                events.tenant_in_trouble(tenant, error)
                continue
            for claim in claims:
                events.given_back(claim)

    def _finish_if_idle(self) -> None:
        if not self._running:
            self.finished.set()

    def _claim_round(self) -> int:
        """Look into each tenant in turn, starting behind the last one that had work; return how many were claimed.

        A job that killed two workers, or seems to have, runs alone in this process: it is claimed when nothing runs,
        and until it has ended nothing else is. Else each death would cost its neighbours an attempt, too.
        """
        if self._lonely.wants_room(self._running, self._others_wait_for_room):
            return 0
        found = 0
        for name in self._tenants_in_turn():
            free = self._service.concurrency - len(self._running)
            if free <= 0 or self._lonely.runs(self._running):
                break
            claimed = self._claim(name, free)
            if claimed:
                found += claimed
                self._names.remove(name)
                self._names.append(name)
        return found

    def _others_wait_for_room(self) -> bool:
        """Return whether some job is due that must run alone."""
        return any(self._look(name, self._waits_alone) for name in self._tenants_in_turn())

    def _waits_alone(self) -> bool:
        service = self._service
        return self._queue.waits_alone(service.job_types, service.queue_names)

    def _tenants_in_turn(self) -> list[str]:
        if time.monotonic() - self._names_read_at > _TENANTS_FRESH_SECONDS:
            wanted = self._service.only_tenants
            now = [name for name in self._tenants.names() if wanted is None or name in wanted]
            known = [name for name in self._names if name in now]
            self._names = [name for name in now if name not in known] + known
            self._names_read_at = time.monotonic()
        return list(self._names)

    def _claim(self, tenant: str, limit: int) -> int:
        service = self._service
        jobs = self._look(
            tenant,
            lambda: self._queue.dequeue_many(
                service.name,
                limit,
                service.job_types,
                service.queue_names,
                holder_key=self._keeper.holder_key,
                alone=self._lonely.choice(self._running),
            ),
        )
        for job in jobs or ():
            claim = Claim(tenant, job)
            self._running.add(claim)
            self._keeper.hold(claim)
            events.claimed(claim)
            self._slots.submit(claim)
        return len(jobs or ())

    def _look(self, tenant: str, ask: Callable[[], T]) -> T | None:
        """Ask something inside a tenant; None if it is in trouble, which is said once and must not stop the others."""
        try:
            with self._tenants.use(tenant):
                answer = ask()
        except _WEATHER as error:
            if not was_locked_out(error):
                raise
            self._call_in_trouble(tenant, error)
            return None
        except Exception as error:  # noqa: BLE001 - no schema, not migrated
            self._call_in_trouble(tenant, error)
            connections[self._queue.using].close()
            return None
        self._ailing.discard(tenant)
        return answer

    def _call_in_trouble(self, tenant: str, error: Exception) -> None:
        if tenant not in self._ailing:
            events.tenant_in_trouble(tenant, error)
            self._ailing.add(tenant)

    # News from the slots

    def _report(self, ending: Ending) -> None:
        self._news.put(ending)

    def _listen(self, seconds: float) -> None:
        """Wait for an ending or a stop, then take all that has come."""
        timeout: float | None = seconds
        while True:
            try:
                news = self._news.get(timeout=timeout) if timeout else self._news.get_nowait()
            except queues.Empty:
                return
            if news is not None:
                self._unrecorded.append(news)
            timeout = None
