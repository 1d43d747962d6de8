"""The threads that run handlers."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from jobqueue.connection_hygiene import close_connections, replace_ended_connections, reset_connections
from jobqueue.executor import Claim, Ending


class Slots:
    """A fixed number of threads, each running one job at a time.

    Args:
        count: How many.
        execute: Runs a claim; must not raise.
        report: Takes the ending; called from the slot's thread, after its connections are clean again.
    """

    def __init__(self, count: int, execute: Callable[[Claim], Ending], report: Callable[[Ending], None]) -> None:
        self.count = count
        self._execute = execute
        self._report = report
        self._inbox: SimpleQueue[Claim | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the threads that don't run yet. They are daemons: a handler can't keep the process alive."""
        while len(self._threads) < self.count:
            name = f"jobqueue-slot-{len(self._threads) + 1}"
            self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()

    def submit(self, claim: Claim) -> None:
        """Run the claim as soon as a thread is free."""
        self._inbox.put(claim)

    @property
    def waiting(self) -> int:
        """How many claims wait for a thread, roughly."""
        return self._inbox.qsize()

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

    def stop(self) -> None:
        """End each thread when it has nothing left to do; nothing may be submitted any more."""
        for _ in range(self.count):
            self._inbox.put(None)

    def _work(self) -> None:
        while (claim := self._inbox.get()) is not None:
            replace_ended_connections()
            ending = self._execute(claim)
            # First the connections, then the report: a transaction that the handler left open may lock the job's row.
            reset_connections()
            self._report(ending)
        close_connections()
