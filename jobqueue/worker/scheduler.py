"""The loop by which each worker sees to it that what schedules have due is enqueued; no process of its own does it."""

import random
import threading
import time
from collections.abc import Sequence

from django.db import Error as DatabaseError

from jobqueue import schedules
from jobqueue.conf import conf
from jobqueue.ledger import Ledger, ledger
from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource
from jobqueue.worker import events
from jobqueue.worker.connection_hygiene import drop_connection
from jobqueue.worker.own_session import OwnSession, is_of_one_tenant
from jobqueue.worker.scheduled_jobs import database_time, enqueue_due, seconds_to_next, touch
from jobqueue.worker.weather import WEATHER, Weather

#: Schedules are made in the admin, and clocks are set: so often is looked at least.
_LONGEST_WAIT = 10.0
#: Another worker is just enqueueing what is due.
_SHORTEST_WAIT = 0.1
#: How often to look for tenants that don't have the schedules of this program's code yet.
_NEW_SECONDS = 60.0
#: In how many tenants one turn looks: each costs the connection's backend the catalogue of its schema.
_BATCH = 100


class Scheduler:
    """Belongs to one worker; its loop is to be run in a thread of its own.

    Args:
        queue: Where the jobs are.
        tenants: Whose schedules are looked after.
        only: These alone; None: all.
    """

    def __init__(self, queue: Queue, tenants: TenantSource, only: Sequence[str] | None) -> None:
        self._queue = queue
        self._tenants = tenants
        self._only = only
        self._ledger = ledger(queue.using)
        self._done = threading.Event()
        self._look_for_new_at = float("-inf")
        self._new: list[str] = []
        self._ailing: set[str] = set()
        pooled = conf().sign_of_life_grace is None
        #: Its connection, for whoever looks after the loop.
        self.session = OwnSession(queue.using, "scheduler", queue.stale_lock_after, pooled=pooled)

    def stop(self) -> None:
        """End the loop."""
        self._done.set()

    def run(self) -> None:
        """Enqueue what is due, again and again, until stopped."""
        weather = Weather(self._queue.using, "scheduler", longest_wait=5.0)
        while not self._done.is_set():
            try:
                self.session.prepare()
                wait = self._turn()
                weather.good()
                if not wait:  # it has been in many tenants, whose catalogue the backend remembers
                    drop_connection(self._queue.using)
            except DatabaseError as error:
                wait = weather.bad(error)
            self.session.rest()
            self._done.wait(wait)

    def _turn(self) -> float:
        """Visit who has something due or is new, and return the seconds until the next turn; 0: there may be more."""
        if self._ledger is None:
            seconds = [self._visit(tenant) for tenant in self._served()]
            return max(_SHORTEST_WAIT, min([_LONGEST_WAIT, *seconds]))
        if self._visit_some_new(self._ledger):
            return 0.0
        with self.session.bounded():
            due, next_in = self._ledger.take_due_schedules(schedules.declared(), self._only)
        for tenant in due:
            self._visit(tenant)
        return 0.0 if due else min(next_in, _LONGEST_WAIT)

    def _visit_some_new(self, ledger: Ledger) -> bool:
        """Let tenants have what code declares and they don't know of yet; return False if there is none such."""
        declared = schedules.declared()
        if declared and time.monotonic() >= self._look_for_new_at:
            self._look_for_new_at = time.monotonic() + _NEW_SECONDS * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
            with self.session.bounded():
                self._new = list(ledger.without_schedules(self._served(), declared))
            random.shuffle(self._new)  # for another worker begins elsewhere
        some, self._new = self._new[:_BATCH], self._new[_BATCH:]
        if not some:
            return False
        with self.session.bounded():
            still_new = ledger.without_schedules(some, declared)
        for tenant in still_new:
            self._visit(tenant, note_anew=True)
        return True

    def _served(self) -> list[str]:
        return [name for name in self._tenants.names() if self._only is None or name in self._only]

    def _visit(self, tenant: str, *, note_anew: bool = False) -> float:
        """Enqueue what a tenant has due, and return after how many seconds something is again.

        Args:
            tenant: Its name.
            note_anew: Whether the ledger may have lost what the tenant has.
        """
        using, declared = self._queue.using, schedules.declared_in(tenant)
        self.session.prepare()
        try:
            with self._tenants.use(tenant), self.session.bounded():
                now = database_time(using)
                enqueue_due(self._queue, declared, now)
                if note_anew:
                    touch(using)
                next_in = seconds_to_next(using, declared, now)
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
            self._in_trouble(tenant, error)
        except Exception as error:  # noqa: BLE001 - no schema, not migrated: the others go on
            drop_connection(using)
            self.session.prepare()
            self._in_trouble(tenant, error)
        else:
            self._ailing.discard(tenant)
            return next_in
        return _LONGEST_WAIT

    def _in_trouble(self, tenant: str, error: Exception) -> None:
        if tenant not in self._tenants.names():
            if self._ledger:
                self._ledger.forget(tenant)
        elif tenant not in self._ailing:
            self._ailing.add(tenant)
            events.schedules_in_trouble(tenant, error)
