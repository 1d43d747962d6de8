"""The loop that claims jobs for threads, on one connection of its own; how they end is the recorder's business."""

import queue as queues
import threading
import time
from collections.abc import Sequence
from functools import partial

from django.db import Error as DatabaseError

from jobqueue.conf import conf
from jobqueue.ledger import ledger
from jobqueue.queue import Queue
from jobqueue.rows.claims import Claimed
from jobqueue.scheduling import Scheduler, scheduler
from jobqueue.sign_of_life import count_signs
from jobqueue.tenant_source import TenantSource
from jobqueue.worker import events
from jobqueue.worker.agenda import Agenda
from jobqueue.worker.claimer import Claimer
from jobqueue.worker.connection_hygiene import close_connections, drop_connection
from jobqueue.worker.executor import Claim, Ending, execute, traced
from jobqueue.worker.giving_back import release
from jobqueue.worker.holdings import Holdings
from jobqueue.worker.isolation import ForkServer
from jobqueue.worker.keeper import Keeper
from jobqueue.worker.lonely import Lonely
from jobqueue.worker.own_session import OwnSession, is_of_one_tenant
from jobqueue.worker.prefetch import Prefetch
from jobqueue.worker.recorder import Recorder
from jobqueue.worker.runs import Run
from jobqueue.worker.service import Service
from jobqueue.worker.slots import Slots
from jobqueue.worker.timekeeper import Timekeeper
from jobqueue.worker.weather import WEATHER, Weather

#: How soon to look again while the keeper has no sign of life to show yet.
_NOT_READY_SECONDS = 0.02
#: How often to look up while the threads have enough to do.
_PACE_SECONDS = 0.01
#: Claims that wait for a thread while for so long no job has ended are given back: others may be idle.
_STUCK_SECONDS = 0.25
#: How soon a tenant in trouble is looked into again: twice as long after each look, up to so much.
_TROUBLE_SECONDS = 1.0
_MOST_TROUBLE_SECONDS = 8.0
#: How soon to ask again what became of a COMMIT that was not answered.
_UNCERTAIN_SECONDS = 0.25
_LONGEST_WAIT = 1.0
#: For how long the tenants are visited that are due, before what has happened meanwhile is noted.
_LONGEST_ROUND_SECONDS = 0.05

#: What the loop can be told: the name of a tenant that may have something due, empty for any; None: just look up.
News = queues.SimpleQueue[str | None]


class Dispatcher:
    """Claims what the threads will soon work off, and no more, so that nothing is hoarded."""

    def __init__(
        self,
        service: Service,
        queue: Queue,
        tenants: TenantSource,
        keeper: Keeper,
        fork_server: ForkServer,
        news: News,
    ) -> None:
        self._service = service
        self._queue = queue
        self._tenants = tenants
        self._keeper = keeper
        self._fork_server = fork_server
        self._news = news
        self._slots = Slots(service.concurrency, self._execute, self._report)
        keeper.end_run = self._slots.cancel
        self._holdings = Holdings()
        self._prefetch = Prefetch(service.concurrency, conf().prefetch)
        self._agenda = Agenda(
            tenants, service.only_tenants, ledger(queue.using), lambda: keeper.hears, partial(count_signs, queue.using)
        )
        self._scheduler = scheduler()
        pooled = conf().sign_of_life_grace is None
        #: Its connection, for whoever looks after the loop.
        self.session = OwnSession(queue.using, "dispatcher", queue.stale_lock_after, pooled=pooled)
        self._lonely = Lonely()
        self._claimer = Claimer(service, tenants, self.session, keeper, self._lonely)
        #: Its loop is to be run in a thread of its own, for as long as this one's.
        self.recorder = Recorder(queue, tenants, self._holdings, keeper, self._is_busy, self._look_up)
        # Taken back from the threads, and not given back to the queue yet.
        self._unstarted: list[Claim] = []
        # When a job was last claimed or ended, and when no more waited than may be taken in advance.
        self._moved_at = self._within_allowance_at = time.monotonic()
        self._taken_count = 0
        # More is claimed when no more than so many wait for a thread; whether that has been rung for.
        self._low_water = 0
        self._rung = False
        # The tenants in trouble, and after how many seconds to look into each again.
        self._ailing: dict[str, float] = {}
        # Plain flags, since a signal handler sets them: an Event's lock may be held by the code it interrupts.
        self._stopping = False
        self._giving_back = False
        # Set when what has not ended is given back: how it ends now is no longer ours to record.
        self._deserted = False
        #: Set when nothing runs and everything is recorded, after a stop or a drain; or when jobs were given back.
        self.finished = threading.Event()

    @property
    def tenants_in_trouble(self) -> int:
        """How many tenants could not be looked into at the last try."""
        return len(self._ailing)

    @property
    def running(self) -> int:
        """How many jobs are being run."""
        return max(0, self._holdings.unfinished_count - self._slots.waiting)

    @property
    def held(self) -> int:
        """How many jobs it holds: those that run or wait, and those whose ending is not on record."""
        return len(self._holdings)

    @property
    def hanging(self) -> int:
        """How many threads were left behind with handlers that don't end."""
        return self._slots.hanging

    @property
    def has_run_its_jobs(self) -> bool:
        """Whether it has run as many jobs as it is to run."""
        return self._service.max_jobs is not None and self._holdings.ended_count >= self._service.max_jobs

    @property
    def timekeeper(self) -> Timekeeper:
        """Watches over what runs; its loop is to be run in a thread of its own."""
        return self._slots.timekeeper

    def stop(self) -> None:
        """Claim no more; finish when the running jobs have ended. Safe to call from a signal handler."""
        self._stopping = True
        self._look_up()

    def give_back(self) -> None:
        """Release what still runs and finish now; the caller must then end the process."""
        self._giving_back = True
        self.stop()

    def run(self) -> None:
        """Claim and wait until finished."""
        if self.finished.is_set():
            return
        self._slots.start()
        weather = Weather(self._queue.using, "dispatcher", longest_wait=5.0)
        while not self.finished.is_set():
            stopping = self._stopping
            try:
                wait = self._turn()
                if self.session.has_asked:
                    weather.good()
            except DatabaseError as error:
                self._claimer.forget_marks()
                wait = weather.bad(error)
                if stopping:
                    self._finish_if_idle()  # a claim that nobody knows of is left to those who look for dead workers
            self.session.rest()
            if not self.finished.is_set():
                self._listen(wait)
        self._slots.stop()

    # One turn, in calling order

    def _turn(self) -> float:
        """Claim, and return the seconds until the next turn if nothing happens.

        The database is asked only for what has to be done: an idle worker can be stopped while it is away.
        """
        self._rung = False
        self._note_what_ended()
        self._low_water = self._prefetch.allowance() // 2
        if self._giving_back:
            self._deserted = True
            self._slots.end_processes()
            self._release(self._holdings.unfinished)
            if not self._holdings.unrecorded:
                self.finished.set()
            return _PACE_SECONDS
        if self._stopping:
            self._give_unstarted_back()
            self._undo_uncertain()
            self._finish_if_idle()
        elif not self._keeper.ready.is_set():
            # Whatever is held now is about to be taken for a dead worker's.
            self._give_unstarted_back()
            return _NOT_READY_SECONDS
        else:
            self.session.follow(self._keeper.outages)
            self._give_back_if_stuck()
            idle = not self._holdings
            due = self._tenants_due()
            found = self._visit_all(due)
            self._undo_uncertain()
            if self._service.drain and idle and not found and self._keeper.ready.is_set():  # else nobody was asked
                self._finish_if_idle()
        return self._seconds_to_next_turn()

    def _note_what_ended(self) -> None:
        durations = self._holdings.durations()
        if durations:
            self._moved_at = time.monotonic()
            self._prefetch.note(seconds for _, seconds in durations)
            if self._scheduler:
                for tenant, seconds in durations:
                    self._scheduler.ended(tenant, seconds)
            if self.has_run_its_jobs:
                self._stopping = True  # no |=, which could undo what a signal sets meanwhile

    def _room(self) -> int:
        """Return how many more jobs to claim now."""
        if self._stopping or not self._keeper.ready.is_set() or self._lonely.leaves_no_room(self._holdings):
            return 0
        room = self._service.concurrency + self._prefetch.allowance() - self._holdings.unfinished_count
        if self._service.max_jobs is None:
            return room
        return min(room, self._service.max_jobs - self._taken_count)

    def _tenants_due(self) -> list[str]:
        """Return the tenants to be looked into now: none while there is no room.

        A job that killed two workers, or seems to have, runs alone in this process: it is claimed when nothing runs,
        and until it has ended nothing else is. Else each death would cost its neighbours an attempt, too.
        """
        if self._room() <= 0 or self._slots.waiting > self._low_water:
            return []  # in the latter case later, and then more at once
        self._refresh()
        lonely_in = self._lonely.waits_in
        return self._agenda.due() if lonely_in is None else [lonely_in]

    def _refresh(self) -> None:
        self.session.prepare()
        if self._agenda.refresh():
            self._serve()
        self._keeper.served = self._agenda.busy

    def _serve(self) -> None:
        self._claimer.serve(self._agenda.served)
        self._ailing = {name: wait for name, wait in self._ailing.items() if name in self._agenda.served}

    def _seconds_to_next_turn(self) -> float:
        if self._slots.waiting > self._low_water:
            return _PACE_SECONDS
        if self._claimer.uncertain:
            return _UNCERTAIN_SECONDS
        if self._stopping or self._room() <= 0:
            return _LONGEST_WAIT
        if self._slots.waiting:  # they are to be given back soon if what runs turns out to be long
            return min(self._agenda.seconds_to_next(), _STUCK_SECONDS)
        return self._agenda.seconds_to_next()

    # A visit to a tenant

    def _visit_all(self, tenants: Sequence[str]) -> int:
        """Claim in these tenants, as far as there is room, and return how many jobs were claimed."""
        found = self._visit_by_shares(self._scheduler, tenants) if self._scheduler else self._visit_in_turn(tenants)
        if not found and self._service.drain and not self._holdings:
            found = self._visit_in_turn(self._agenda.everybody())  # the last round before the end is one through all
        return found

    def _visit_by_shares(self, scheduler: Scheduler, tenants: Sequence[str]) -> int:
        """Share the room out, and what is left by those who have fewer jobs than their share among the others."""
        found = 0
        until = time.monotonic() + _LONGEST_ROUND_SECONDS
        competing = dict.fromkeys(tenants)
        while (room := self._room()) > 0 and time.monotonic() < until:
            shares = scheduler.share_out(room, list(competing))
            if not shares:
                break
            for tenant, share in shares.items():
                limit = min(share, self._room())
                if limit <= 0:
                    return found
                claimed = self._visit(tenant, limit)
                found += claimed
                if claimed < limit:
                    del competing[tenant]
        return found

    def _visit_in_turn(self, tenants: Sequence[str]) -> int:
        """Share the room out evenly."""
        found = 0
        for position, tenant in enumerate(tenants):
            room = self._room()
            if room > 0:
                found += self._visit(tenant, -(-room // (len(tenants) - position)))
        return found

    def _undo_uncertain(self) -> None:
        for tenant in self._claimer.uncertain:
            self._visit(tenant, 0)

    def _visit(self, tenant: str, limit: int) -> int:
        began = time.monotonic()
        self.session.prepare()
        try:
            woken = self._agenda.woken(tenant)
            claimed = self._claimer.visit(tenant, limit, self._holdings, woken=woken, settle=self._agenda.settle)
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
            self._visit_failed(tenant, error, began)
            return 0
        except DatabaseError as error:  # not migrated
            self._visit_failed(tenant, error, began)
            return 0
        except Exception as error:  # noqa: BLE001 - no schema, or worse
            drop_connection(self._queue.using)
            self._visit_failed(tenant, error, began)
            return 0
        self._ailing.pop(tenant, None)
        if limit:
            self._submit(tenant, claimed)
            self._agenda.looked(tenant, began, found=bool(claimed.jobs), next_in=_next_in(claimed))
        return len(claimed.jobs)

    def _submit(self, tenant: str, claimed: Claimed) -> None:
        new = [Claim(tenant, job) for job in claimed.jobs]
        if new:
            self._taken_count += len(new)
            if self._scheduler:
                self._scheduler.claimed(tenant, len(new))
            self._holdings.take(new)
            self._keeper.hold(new)
            self._moved_at = self._within_allowance_at = time.monotonic()
        for claim in new:
            events.claimed(claim)
            self._slots.submit(claim)

    # Trouble

    def _visit_failed(self, tenant: str, error: Exception, began: float) -> None:
        """A tenant's table is locked, or it is broken, or it has been deleted: the others go on."""
        self._lonely.needs_no_room()
        wait = self._ailing.get(tenant, _TROUBLE_SECONDS)
        self._agenda.looked(tenant, began, found=False, next_in=wait)
        self.session.prepare()
        self._agenda.reread()  # it may have been deleted
        self._serve()
        if not self._agenda.serves(tenant):
            return
        if tenant not in self._ailing:
            events.tenant_in_trouble(tenant, error)
        self._ailing[tenant] = min(2 * wait, _MOST_TROUBLE_SECONDS)

    # Giving back

    def _give_back_if_stuck(self) -> None:
        """Leave to others what was taken in advance, when the jobs that run turn out to be long."""
        now, waiting = time.monotonic(), self._slots.waiting
        if waiting <= self._prefetch.allowance() + self._service.concurrency:
            self._within_allowance_at = now
        stuck = waiting and now - min(self._moved_at, self._within_allowance_at) > _STUCK_SECONDS
        if stuck or self._unstarted:
            self._prefetch.forget()
            self._give_unstarted_back()

    def _give_unstarted_back(self) -> None:
        self._unstarted += self._slots.take_back()
        if self._unstarted:
            self._unstarted = self._release(self._unstarted, started=False)

    def _release(self, held: Sequence[Claim], started: bool = True) -> list[Claim]:
        return release(held, self._queue, self._tenants, self.session, self._note_released, started=started)

    def _note_released(self, tenant: str, settled: Sequence[Claim]) -> None:
        self._keeper.drop(settled)
        self._holdings.settle(settled)
        self._taken_count -= len(settled)
        if self._scheduler:
            self._scheduler.returned(tenant, len(settled))

    def _finish_if_idle(self) -> None:
        if not self._holdings and not self._claimer.uncertain:
            self.finished.set()

    # What the threads do

    def _execute(self, run: Run) -> Ending:
        if run.isolated:
            close_connections()  # the child opens its own
            return traced(run.claim, partial(self._fork_server.execute, run))
        return traced(run.claim, partial(execute, run.claim, self._queue, self._tenants, run.call))

    def _report(self, ending: Ending) -> None:
        """Called from a slot's thread. Rings once when the threads will soon have nothing to do."""
        if self._deserted:
            return
        self.recorder.ended(ending)
        if self._slots.waiting <= self._low_water and not self._rung:
            self._rung = True
            self._look_up()

    def _is_busy(self) -> bool:
        return self._slots.waiting > 0

    # News

    def _look_up(self) -> None:
        self._news.put(None)

    def _listen(self, seconds: float) -> None:
        """Wait for a ring, a stop or a wake-up; while the threads have enough to do, the latter only is noted."""
        until = time.monotonic() + seconds
        while True:
            try:
                news = self._news.get(timeout=max(0.0, until - time.monotonic()))
            except queues.Empty:
                return
            if news is not None:
                self._agenda.wake(news)
            if news is None or self._slots.waiting <= self._low_water:
                until = float("-inf")  # take what else has come, and go


def _next_in(claimed: Claimed) -> float | None:
    """Return in how many seconds there is something to be claimed, as far as the claim saw."""
    if claimed.more:
        return 0.0
    return None if claimed.seconds_to_next is None else claimed.seconds_to_next + 0.001
