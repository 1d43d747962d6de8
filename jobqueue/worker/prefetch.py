"""How many jobs a worker may take beyond its free threads: only while jobs are measured in milliseconds."""

from collections.abc import Iterable

#: What is taken in advance is this many seconds of work at most ...
HORIZON_SECONDS = 0.05
#: ... and this many jobs.
MOST = 400

#: The weight of one more job in the moving average.
_WEIGHT = 0.1
_SHORTEST_SECONDS = 1e-4


class Prefetch:
    """Learns from the jobs that end.

    Args:
        concurrency: Threads that work.
        wanted: False: nothing is ever taken in advance.
    """

    def __init__(self, concurrency: int, wanted: bool = True) -> None:
        self._concurrency = concurrency
        self._wanted = wanted
        self._average: float | None = None

    def note(self, durations: Iterable[float]) -> None:
        """Note how many seconds jobs took."""
        for seconds in durations:
            if self._average is None:
                self._average = seconds
            else:
                self._average += _WEIGHT * (seconds - self._average)

    def forget(self) -> None:
        """Take nothing in advance until a job has ended: those that run are slower than was thought."""
        self._average = None

    def allowance(self) -> int:
        """Return how many jobs may wait for a thread."""
        if not self._wanted or self._average is None:
            return 0
        return min(MOST, int(self._concurrency * HORIZON_SECONDS / max(self._average, _SHORTEST_SECONDS)))
