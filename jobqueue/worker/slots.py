"""The threads that run handlers."""

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from jobqueue.exceptions import Cancelled
from jobqueue.worker import events
from jobqueue.worker.connection_hygiene import (
    close_connections,
    close_left_behind,
    replace_ended_connections,
    reset_connections,
)
from jobqueue.worker.executor import Claim, Ending, Failure
from jobqueue.worker.runs import Run
from jobqueue.worker.thread_connections import ThreadConnections
from jobqueue.worker.timekeeper import Timekeeper

#: A thread that was left behind hangs if it hasn't ended after so long.
_HANGS_SECONDS = 0.5
#: How long to wait for killed processes to be gone.
_KILLED_SECONDS = 2.0
#: How soon to look again whether a claim is sure.
_DOUBT_SECONDS = 0.05


class Slots:
    """A fixed number of threads, each running one job at a time. A thread that hangs is replaced.

    Args:
        count: How many.
        execute: Runs a claim; must not raise.
        report: Takes the ending; called from the slot's thread, after its connections are clean again.
    """

    def __init__(self, count: int, execute: Callable[[Run], Ending], report: Callable[[Ending], None]) -> None:
        self.count = count
        self.timekeeper = Timekeeper(self._give_up)
        self._execute = execute
        self._report = report
        self._inbox: SimpleQueue[Claim | None] = SimpleQueue()
        self._started = 0
        self._left_behind: list[tuple[threading.Thread, float]] = []

    def start(self) -> None:
        """Start the threads that don't run yet. They are daemons: a handler can't keep the process alive."""
        while self._started < self.count:
            self._start_thread()

    def submit(self, claim: Claim) -> None:
        """Run the claim as soon as a thread is free."""
        self._inbox.put(claim)

    def cancel(self, claim: Claim) -> bool:
        """End the claim's run, or don't let it begin; return whether it runs."""
        claim.lost = True
        return self.timekeeper.cancel(claim)

    @property
    def waiting(self) -> int:
        """How many claims wait for a thread, roughly."""
        return self._inbox.qsize()

    @property
    def hanging(self) -> int:
        """How many threads were left behind and don't end."""
        now = time.monotonic()
        return sum(thread.is_alive() and now - since > _HANGS_SECONDS for thread, since in self._left_behind)

    def take_back(self) -> list[Claim]:
        """Return the claims that no thread has begun; none will."""
        taken: list[Claim] = []
        while True:
            try:
                claim = self._inbox.get_nowait()
            except Empty:
                return taken
            if claim is None:
                self._inbox.put(None)  # the end for a thread: nothing is submitted behind it
                return taken
            taken.append(claim)

    def end_processes(self) -> None:
        """Kill the processes that handlers run in, and wait until they are gone."""
        isolated = [run for run in self.timekeeper.runs if run.isolated]
        for run in isolated:
            run.kill(Failure("WorkerStopped", "the worker stopped"))
        until = time.monotonic() + _KILLED_SECONDS
        while time.monotonic() < until and any(run in self.timekeeper.runs for run in isolated):
            time.sleep(0.01)

    def stop(self) -> None:
        """End each thread when it has nothing left to do; nothing may be submitted any more."""
        for _ in range(self.count):
            self._inbox.put(None)

    def _start_thread(self) -> None:
        self._started += 1
        threading.Thread(target=self._work, name=f"jobqueue-slot-{self._started}", daemon=True).start()

    def _work(self) -> None:
        connections = ThreadConnections()
        while (claim := self._inbox.get()) is not None:
            _wait_until_sure(claim)
            run = Run(claim, connections)
            self.timekeeper.watch(run)
            if connections.any:
                replace_ended_connections()
            ending = _unbegun(claim) if claim.lost else self._execute(run)
            # First the connections, then the report: a transaction that the handler left open may lock the job's row.
            if run.interrupted:
                close_connections()  # who knows what the exception kept them from
            elif connections.any:
                reset_connections()
            close_left_behind()
            self.timekeeper.forget(run)
            if not run.settle():
                break  # given up meanwhile, and replaced
            self._report(ending)
        close_connections()

    def _give_up(self, run: Run) -> None:
        ending = run.give_up()
        if ending is not None:
            self.timekeeper.forget(run)
            alive = [(thread, since) for thread, since in self._left_behind if thread.is_alive()]
            self._left_behind = [*alive, (run.thread, time.monotonic())]
            events.left_behind(ending)
            self._report(ending)
            self._start_thread()


def _wait_until_sure(claim: Claim) -> None:
    """Begin nothing that another worker may have: this one was frozen, or can't renew. The keeper finds out."""
    while time.monotonic() > claim.sure_until and not claim.lost:
        time.sleep(_DOUBT_SECONDS)


def _unbegun(claim: Claim) -> Ending:
    return Ending(claim, 0.0, failure=Failure.of(Cancelled()))
