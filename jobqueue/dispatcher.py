"""The loop that claims jobs for threads and records how they ended, on one connection of its own.

One visit to a tenant is one transaction: it records what has ended there and claims what there is room for, so that at
load many jobs share one commit.
"""

import queue as queues
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID, uuid4

from django.db import Error as DatabaseError
from django.db import connections

from jobqueue import claims, events
from jobqueue.claims import Claimed, Wanted
from jobqueue.conf import conf
from jobqueue.connection_hygiene import close_connections
from jobqueue.executor import Claim, Ending, execute
from jobqueue.isolation import ForkServer
from jobqueue.keeper import Keeper
from jobqueue.lanes import Marks
from jobqueue.lonely import Lonely
from jobqueue.own_session import OwnSession, is_of_one_tenant, passes_by
from jobqueue.prefetch import Prefetch
from jobqueue.queue import Queue
from jobqueue.recorder import Recorded, record
from jobqueue.rota import Rota
from jobqueue.runs import Run
from jobqueue.slots import Slots
from jobqueue.tenant_source import TenantSource
from jobqueue.timekeeper import Timekeeper
from jobqueue.weather import WEATHER, Weather

T = TypeVar("T")

#: How soon to look again while the keeper has no sign of life to show yet.
_NOT_READY_SECONDS = 0.02
#: How often endings are recorded while the threads have enough to do; others see an ending so much later.
_PACE_SECONDS = 0.01
#: Claims that wait for a thread while for so long no job has ended are given back: others may be idle.
_STUCK_SECONDS = 0.25
#: How long the list of tenants is believed, and how soon a tenant in trouble is looked into again.
_TENANTS_FRESH_SECONDS = 2.0
_TROUBLE_SECONDS = 1.0
#: How much rarer an idle worker looks while it is known to hear wake-ups.
_RARER_WHEN_HEARING = 4
_LONGEST_WAIT = 1.0

#: What the loop can be told: the name of a tenant that may have something due, empty for any; None: just look up.
News = queues.SimpleQueue[str | None]


@dataclass(frozen=True)
class Service:
    """What a worker serves, and by which name."""

    name: str
    concurrency: int
    job_types: Sequence[str]
    queue_names: Sequence[str] | None = None  # None: every queue
    only_tenants: Sequence[str] | None = None  # None: every tenant
    drain: bool = False  # end when nothing is due
    max_jobs: int | None = None  # run so many at most, then finish


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
        self._prefetch = Prefetch(service.concurrency, conf().prefetch)
        self._rota = Rota()
        self._names_read_at = float("-inf")
        self._marks: defaultdict[str, Marks] = defaultdict(Marks)
        self._lonely = Lonely()
        pooled = conf().sign_of_life_grace is None
        #: Its connection, for whoever looks after the loop.
        self.session = OwnSession(queue.using, "dispatcher", queue.stale_lock_after, pooled=pooled)
        # Held: submitted to the slots, and not yet on record as ended.
        self._held: set[Claim] = set()
        # Taken back from the threads, and not given back to the queue yet.
        self._unstarted: list[Claim] = []
        self._endings: queues.SimpleQueue[Ending] = queues.SimpleQueue()
        self._unrecorded: defaultdict[str, list[Ending]] = defaultdict(list)
        # When a job was last claimed or ended, and when no more waited than may be taken in advance.
        self._moved_at = self._within_allowance_at = time.monotonic()
        self._ended_count = 0
        self._ailing: set[str] = set()
        # Claims whose COMMIT was not answered, by token, and the server process that has it: nobody knows whether they
        # hold.
        self._uncertain: defaultdict[str, list[tuple[UUID, int]]] = defaultdict(list)
        # Plain flags, since a signal handler sets them: an Event's lock may be held by the code it interrupts.
        self._stopping = False
        self._giving_back = False
        self._reconnects = False
        #: Set when nothing runs and everything is recorded, after a stop or a drain; or when jobs were given back.
        self.finished = threading.Event()

    @property
    def tenants_in_trouble(self) -> int:
        """How many tenants could not be looked into at the last try."""
        return len(self._ailing)

    @property
    def running(self) -> int:
        """How many jobs are being run."""
        return max(0, self._unfinished() - self._endings.qsize() - self._slots.waiting)

    @property
    def hanging(self) -> int:
        """How many threads were left behind with handlers that don't end."""
        return self._slots.hanging

    @property
    def has_run_its_jobs(self) -> bool:
        """Whether it has run as many jobs as it is to run."""
        return self._service.max_jobs is not None and self._ended_count >= self._service.max_jobs

    @property
    def timekeeper(self) -> Timekeeper:
        """Watches over what runs; its loop is to be run in a thread of its own."""
        return self._slots.timekeeper

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
            stopping = self._stopping
            try:
                wait = self._turn()
                weather.good()
            except DatabaseError as error:
                self._forget_marks()
                wait = weather.bad(error)
                if stopping:
                    self._finish_if_idle()  # a claim that nobody knows of is left to those who look for dead workers
            self.session.rest()
            if not self.finished.is_set():
                self._listen(wait)
        self._slots.stop()

    # One turn, in calling order

    def _turn(self) -> float:
        """Record, claim, and return the seconds until the next turn if nothing happens.

        The database is asked only for what has to be done: an idle worker can be stopped while it is away.
        """
        self._collect_endings()
        if self._giving_back:
            self._slots.end_processes()
            self._visit_all(self._tenants_owed(), claim=False)
            self._release(self._held)
            self.finished.set()
        elif self._stopping:
            self._give_unstarted_back()
            self._visit_all(self._tenants_owed(), claim=False)
            self._finish_if_idle()
        elif not self._keeper.ready.is_set():
            # Whatever is held now is about to be taken for a dead worker's.
            self._give_unstarted_back()
            self._visit_all(self._tenants_owed(), claim=False)
            self._reconnects = True
            return _NOT_READY_SECONDS
        else:
            if self._reconnects:  # to wherever the keeper was led: what broke its connection may have been a fail-over
                connections[self._queue.using].close()
                self._reconnects = False
            self._give_back_if_stuck()
            idle = not self._held
            due = self._tenants_due()
            self._visit_all(self._tenants_owed(but=due), claim=False)
            found = self._visit_all(due)
            if self._service.drain and idle and not found:
                self._finish_if_idle()
        return self._seconds_to_next_turn()

    def _collect_endings(self) -> None:
        durations = []
        while True:
            try:
                ending = self._endings.get_nowait()
            except queues.Empty:
                break
            self._unrecorded[ending.claim.tenant].append(ending)
            durations.append(ending.seconds)
        if durations:
            self._moved_at = time.monotonic()
            self._prefetch.note(durations)
            self._ended_count += len(durations)
            self._stopping |= self.has_run_its_jobs

    def _tenants_owed(self, but: Sequence[str] = ()) -> list[str]:
        """Return the tenants in which something is to be written: endings, or claims that may hold."""
        return [name for name in self._unrecorded | self._uncertain if self._is_owed(name) and name not in but]

    def _is_owed(self, tenant: str) -> bool:
        return bool(self._unrecorded[tenant] or self._uncertain.get(tenant))

    def _unfinished(self) -> int:
        return len(self._held) - sum(map(len, self._unrecorded.values()))

    def _room(self) -> int:
        """Return how many more jobs to claim now."""
        if self._stopping or not self._keeper.ready.is_set() or self._lonely.runs(self._held):
            return 0
        room = self._service.concurrency + self._prefetch.allowance() - self._unfinished()
        if self._service.max_jobs is None:
            return room
        return min(room, self._service.max_jobs - self._ended_count - self._unfinished())

    def _tenants_due(self) -> list[str]:
        """Return the tenants to be looked into now: none while there is no room.

        A job that killed two workers, or seems to have, runs alone in this process: it is claimed when nothing runs,
        and until it has ended nothing else is. Else each death would cost its neighbours an attempt, too.
        """
        if self._room() <= 0:
            return []
        self._read_names()
        if self._lonely.wants_room(self._held, self._others_wait_for_room):
            return []
        if self._service.drain and not self._held:
            return self._rota.names  # the last round before the end is one through all
        return self._rota.due(time.monotonic())

    def _read_names(self) -> None:
        now = time.monotonic()
        if now - self._names_read_at > _TENANTS_FRESH_SECONDS:
            self.session.prepare()
            wanted = self._service.only_tenants
            names = [name for name in self._tenants.names() if wanted is None or name in wanted]
            self._rota.serve(names, now)
            self._keeper.served = names
            self._ailing.intersection_update(names)
            self._names_read_at = now

    def _others_wait_for_room(self) -> bool:
        """Return whether some job is due that must run alone."""
        service = self._service
        self.session.prepare()
        return any(
            self._ask(name, lambda: self._queue.waits_alone(service.job_types, service.queue_names))
            for name in self._rota.names
        )

    def _seconds_to_next_turn(self) -> float:
        if self._slots.waiting:
            return _PACE_SECONDS
        if any(self._unrecorded.values()) or self._stopping or self._room() <= 0:
            return _LONGEST_WAIT if not any(self._unrecorded.values()) else _TROUBLE_SECONDS / 4
        return min(self._rota.seconds_to_next(time.monotonic()), _TENANTS_FRESH_SECONDS)

    # A visit to a tenant

    def _visit_all(self, tenants: Sequence[str], *, claim: bool = True) -> int:
        """Record and claim in each tenant, and return how many jobs were claimed."""
        found = 0
        for position, tenant in enumerate(tenants):
            room = self._room() if claim else 0
            # Shared out among those that are due, so that none takes it all.
            limit = -(-room // (len(tenants) - position)) if room > 0 else 0
            if limit or self._is_owed(tenant):
                self.session.prepare()
                found += self._visit(tenant, limit)
        return found

    def _visit(self, tenant: str, limit: int) -> int:
        began = time.monotonic()
        endings = self._unrecorded[tenant]
        token = uuid4()
        server_process = connections[self._queue.using].connection.info.backend_pid
        try:
            with self._tenants.use(tenant), self.session.transaction():
                uncertain = self._settle_uncertain(tenant)
                recorded = record(self._queue, endings)
                claimed = self._claim(tenant, limit, token) if limit else None
        except WEATHER as error:
            self._marks[tenant].forget()
            if is_of_one_tenant(error):
                self._visit_failed(tenant, error, began)
                return 0
            if limit:
                self._uncertain[tenant].append((token, server_process))
            raise
        except Exception as error:  # noqa: BLE001 - no schema, not migrated, an ending that can't be written
            self._marks[tenant].forget()
            connections[self._queue.using].close()
            self._visit_failed(tenant, error, began)
            return 0
        self._ailing.discard(tenant)
        self._uncertain[tenant] = uncertain
        self._note(tenant, recorded)
        if claimed is not None:
            self._submit(tenant, claimed)
            self._rota.looked(tenant, began, found=bool(claimed.jobs), again_in=self._look_again_in(claimed))
        recorded.tell()
        return len(claimed.jobs) if claimed else 0

    def _claim(self, tenant: str, limit: int, token: UUID) -> Claimed:
        service, marks = self._service, self._marks[tenant]
        alone = self._lonely.choice(self._held)
        claim = partial(
            claims.claim,
            self._queue.using,
            limit=limit,
            worker_id=service.name,
            holder_key=self._keeper.holder_key,
            marks=marks,
            token=token,
        )
        marks.begin(time.monotonic())
        if alone:
            claimed = claim(Wanted(service.job_types, service.queue_names, alone=True))
            if claimed.jobs:
                return claimed
            self._lonely.needs_no_room()
            alone = None
        wanted = Wanted(service.job_types, service.queue_names, alone)
        claimed = claim(wanted)
        if claimed.more or not marks.looked_behind:
            return claimed
        # A tenant is known to have nothing more when its lanes have been read from the front.
        marks.forget()
        if claimed.jobs:
            return Claimed(claimed.jobs, more=True)
        marks.begin(time.monotonic())
        return claim(wanted)

    def _settle_uncertain(self, tenant: str) -> list[tuple[UUID, int]]:
        """Undo the claims whose COMMIT has been decided by now, and return the others."""
        return [
            (token, server_process)
            for token, server_process in self._uncertain.get(tenant, ())
            if not claims.undo(self._queue.using, token, server_process)
        ]

    def _look_again_in(self, claimed: Claimed) -> float:
        if claimed.more:
            return 0.0
        rarer = _RARER_WHEN_HEARING if self._keeper.hears else 1
        poll = conf().poll_interval.total_seconds() * rarer * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        return poll if claimed.seconds_to_next is None else min(poll, claimed.seconds_to_next + 0.001)

    def _note(self, tenant: str, recorded: Recorded) -> None:
        """Forget what is on record now."""
        ended = recorded.ended
        self._unrecorded[tenant] = recorded.locked
        self._keeper.drop(ended)
        self._held.difference_update(ended)

    def _submit(self, tenant: str, claimed: Claimed) -> None:
        new = [Claim(tenant, job) for job in claimed.jobs]
        if new:
            self._held.update(new)
            self._keeper.hold(new)
            self._moved_at = time.monotonic()
        for claim in new:
            events.claimed(claim)
            self._slots.submit(claim)

    # Trouble

    def _visit_failed(self, tenant: str, error: Exception, began: float) -> None:
        """A tenant's table is locked, or it is broken, or one ending can't be written: see what can be done.

        Said once, and must not stop the others: of the endings that wait for a lock, or for room on a disk, one is
        tried, and comes last then.
        """
        self._rota.looked(tenant, began, found=False, again_in=_TROUBLE_SECONDS)
        self._names_read_at = float("-inf")  # it may have been deleted
        endings, self._unrecorded[tenant] = self._unrecorded[tenant], []
        for position, ending in enumerate(endings):
            try:
                self.session.prepare()
                with self._tenants.use(tenant), self.session.transaction():
                    recorded = record(self._queue, [ending])
            except Exception as trouble:
                rest = endings[position + 1 :]
                if isinstance(trouble, WEATHER) and passes_by(trouble):
                    self._unrecorded[tenant] += [*rest, ending]
                    break
                if isinstance(trouble, WEATHER) and not is_of_one_tenant(trouble):
                    self._unrecorded[tenant] += [ending, *rest]
                    raise
                events.not_recorded(ending.claim)
                self._keeper.drop([ending.claim])
                self._held.discard(ending.claim)
            else:
                waiting = self._unrecorded[tenant]
                self._note(tenant, recorded)
                self._unrecorded[tenant] += waiting
                recorded.tell()
        self._call_in_trouble(tenant, error)

    def _call_in_trouble(self, tenant: str, error: Exception) -> None:
        self._read_names()
        if tenant in self._rota.names and tenant not in self._ailing:
            events.tenant_in_trouble(tenant, error)
            self._ailing.add(tenant)

    def _ask(self, tenant: str, question: Callable[[], T]) -> T | None:
        """Ask something inside a tenant; None if it is in trouble."""
        try:
            with self._tenants.use(tenant), self.session.bounded():
                return question()
        except WEATHER as error:
            if not is_of_one_tenant(error):
                raise
            self._call_in_trouble(tenant, error)
        except Exception as error:  # noqa: BLE001 - no schema, not migrated
            self._call_in_trouble(tenant, error)
            connections[self._queue.using].close()
        return None

    def _forget_marks(self) -> None:
        for marks in self._marks.values():
            marks.forget()

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

    def _release(self, held: Sequence[Claim] | set[Claim], started: bool = True) -> list[Claim]:
        """Give claims back; return those that are still held, since their rows or tables are locked by others."""
        by_tenant: defaultdict[str, list[Claim]] = defaultdict(list)
        for claim in held:
            by_tenant[claim.tenant].append(claim)
        locked: list[Claim] = []
        for tenant, given in by_tenant.items():
            try:
                self.session.prepare()
                with self._tenants.use(tenant), self.session.transaction():
                    released = {id(job) for job in self._queue.release((c.job for c in given), started=started)}
                    others = [claim for claim in given if id(claim.job) not in released]
                    still = {id(job) for job in self._queue.locked_by_others(claim.job for claim in others)}
            except WEATHER as error:
                if not is_of_one_tenant(error):
                    raise
                events.tenant_in_trouble(tenant, error)
                locked += given
                continue
            except Exception as error:  # noqa: BLE001 - one tenant in trouble must not keep the others' jobs
                events.tenant_in_trouble(tenant, error)
                still = set()
            else:
                if not started:
                    events.left_to_others(tenant, len(released))
                for claim in given if started else ():
                    if id(claim.job) in released:
                        events.given_back(claim)
            locked += [claim for claim in given if id(claim.job) in still]
            settled = [claim for claim in given if id(claim.job) not in still]
            self._keeper.drop(settled)
            self._held.difference_update(settled)
        return locked

    def _finish_if_idle(self) -> None:
        if not self._held and not any(self._uncertain.values()):
            self.finished.set()

    # What the threads do

    def _execute(self, run: Run) -> Ending:
        if run.isolated:
            close_connections()  # the child opens its own
            return self._fork_server.execute(run)
        return execute(run.claim, self._queue, self._tenants, run.call)

    def _report(self, ending: Ending) -> None:
        """Called from a slot's thread. Rings only if that thread may have nothing to do now."""
        self._endings.put(ending)
        if not self._slots.waiting:
            self._news.put(None)

    # News

    def _listen(self, seconds: float) -> None:
        """Wait for a ring, a stop or a wake-up; while the threads have enough to do, the latter only is noted."""
        until = time.monotonic() + seconds
        while True:
            try:
                news = self._news.get(timeout=max(0.0, until - time.monotonic()))
            except queues.Empty:
                return
            if news is not None:
                self._rota.wake(news, time.monotonic())
            if news is None or not self._slots.waiting:
                until = float("-inf")  # take what else has come, and go
