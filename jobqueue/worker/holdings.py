"""What one worker holds: the jobs it has claimed, until nothing remains to be written about them."""

import threading
from collections.abc import Iterable

from jobqueue.worker.executor import Claim, Ending


class Holdings:
    """Shared by the thread that claims, those that run the jobs, and the one that records how they ended.

    A claim is unfinished until its handler has ended, and held until that is on record.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[Claim] = set()
        self._unfinished: set[Claim] = set()
        self._endings: list[Ending] = []
        self._durations: list[tuple[str, float]] = []
        #: How many jobs have ended.
        self.ended_count = 0

    @property
    def unfinished(self) -> list[Claim]:
        """What runs or waits for a thread."""
        with self._lock:
            return list(self._unfinished)

    @property
    def unfinished_count(self) -> int:
        """How many run or wait for a thread."""
        return len(self._unfinished)

    @property
    def unrecorded(self) -> bool:
        """Whether some have ended that are not on record."""
        with self._lock:
            return len(self._held) > len(self._unfinished)

    @property
    def only(self) -> Claim | None:
        """The one claim that is held; None if there are more, or none."""
        with self._lock:
            return next(iter(self._held)) if len(self._held) == 1 else None

    def __len__(self) -> int:
        return len(self._held)

    def take(self, claims: Iterable[Claim]) -> None:
        """Note what was claimed."""
        with self._lock:
            self._held.update(claims)
            self._unfinished.update(claims)

    def end(self, ending: Ending) -> None:
        """Note that a job has ended."""
        with self._lock:
            self._unfinished.discard(ending.claim)
            self._endings.append(ending)
            self._durations.append((ending.claim.tenant, ending.seconds))
            self.ended_count += 1

    @property
    def has_endings(self) -> bool:
        """Whether there are endings that nobody has taken yet."""
        return bool(self._endings)

    def endings(self) -> list[Ending]:
        """Return the endings that came since the last call, to be recorded."""
        with self._lock:
            endings, self._endings = self._endings, []
        return endings

    def durations(self) -> list[tuple[str, float]]:
        """Return of the jobs that ended since the last call whose they were, and how many seconds they took."""
        with self._lock:
            durations, self._durations = self._durations, []
        return durations

    def settle(self, claims: Iterable[Claim]) -> None:
        """Note that nothing remains to be written: the ending is on record, or the claim was given back or lost."""
        with self._lock:
            self._held.difference_update(claims)
            self._unfinished.difference_update(claims)
