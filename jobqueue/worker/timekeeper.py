"""Watch over the limits of what runs, in a thread of its own that asks nobody for anything."""

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue

from jobqueue.worker.executor import Claim
from jobqueue.worker.runs import Run

_NEVER = float("inf")


class Timekeeper:
    """Interrupts what has used up its soft limit or was cancelled, and says what is to be given up.

    Args:
        give_up: Called with a run whose time is up; must not raise.
    """

    def __init__(self, give_up: Callable[[Run], None]) -> None:
        self._give_up = give_up
        self._runs: dict[Claim, Run] = {}
        self._cancelled: SimpleQueue[Claim] = SimpleQueue()
        self._news = threading.Event()
        self._next_look_at = _NEVER
        self._done = False

    @property
    def runs(self) -> list[Run]:
        """What runs now."""
        return list(self._runs.values())

    def watch(self, run: Run) -> None:
        """Watch over a run from now on."""
        self._runs[run.claim] = run
        next_at = run.next_at
        if next_at != _NEVER and next_at < self._next_look_at:
            self._news.set()

    def forget(self, run: Run) -> None:
        """Watch no more: it has ended."""
        self._runs.pop(run.claim, None)

    def cancel(self, claim: Claim) -> bool:
        """Let a run end because its claim is over; return False if it isn't running."""
        if claim not in self._runs:
            return False
        self._cancelled.put(claim)
        self._news.set()
        return True

    def stop(self) -> None:
        """End the loop."""
        self._done = True
        self._news.set()

    def keep(self) -> None:
        """Do what is due, until stopped."""
        while not self._done:
            self._news.clear()
            self._next_look_at = _NEVER  # who begins to run meanwhile rings, if it has a limit at all
            self._cancel_what_is_to_be()
            self._next_look_at = min(map(self._look_at, self.runs), default=_NEVER)
            left = self._next_look_at - time.monotonic()
            self._news.wait(None if left == _NEVER else max(0.0, left))

    def _look_at(self, run: Run) -> float:
        now = time.monotonic()
        run.interrupt_if_due(now)
        if run.give_up_at <= now:
            self._give_up(run)
        return run.next_at

    def _cancel_what_is_to_be(self) -> None:
        while True:
            try:
                run = self._runs.get(self._cancelled.get_nowait())
            except Empty:
                return
            if run is not None:
                run.cancel(time.monotonic())
