"""Measures how long something took, less the time for which this machine stood still: a bound must not break by that.

A host that takes its processors away, a disk that stops everybody: nothing runs then, and what is measured isn't slow.
"""

import threading
import time
from types import TracebackType

TICK_SECONDS = 0.05
#: What a beat may be late where nothing stands still: the interpreter's lock, another process's turn.
TOLERATED_SECONDS = 0.05


class Stopwatch:
    """Runs from its entry; ``seconds`` can be read at any time, from any thread. Left, it ends its own thread."""

    def __enter__(self) -> "Stopwatch":
        self._lock = threading.Lock()
        self._left = threading.Event()
        self._lost = self._longest = 0.0
        self._began = self._beat = time.monotonic()
        threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left.set()

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return time.monotonic() - self._began - self.stood_still

    @property
    def stood_still(self) -> float:
        """Seconds for which nothing ran."""
        with self._lock:
            self._lost += self._late()
            return self._lost

    @property
    def longest_standstill(self) -> float:
        """Seconds of the longest time for which nothing ran."""
        with self._lock:
            self._lost += self._late()
            return self._longest

    def _tick(self) -> None:
        while not self._left.wait(TICK_SECONDS):
            with self._lock:
                self._lost += self._late()
                self._beat = time.monotonic()

    def _late(self) -> float:
        """Seconds that the next beat is late by, counted once."""
        now = time.monotonic()
        late = now - self._beat - TICK_SECONDS
        if late <= TOLERATED_SECONDS:
            return 0.0
        self._beat = now
        self._longest = max(self._longest, late)
        return late
