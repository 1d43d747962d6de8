"""When a worker has room for a job that must run alone, since two workers that ran it have died.

After one death it runs beside others: mostly it was one of several that a deploy or the out-of-memory killer hit, and
long ones would have to wait for each other. Two deaths in a row make it, or one of its neighbours, a suspect.
"""

import time
from collections.abc import Callable

from jobqueue.holdings import Holdings
from jobqueue.models import RUN_ALONE_AFTER_DEATHS

#: A worker that has been busy for so long asks whether such a job is waiting for room.
_ASK_SECONDS = 5.0
#: How long it then claims nothing, so that what runs can end; after that another worker may have more luck.
_ROOM_SECONDS = 10.0


class Lonely:
    """Belongs to a dispatcher; decides what kind of job may be claimed beside those that run."""

    def __init__(self) -> None:
        self._ask_at = time.monotonic() + _ASK_SECONDS
        self._room_until = float("-inf")

    def runs(self, holdings: Holdings) -> bool:
        """Return whether such a job runs: nothing may be claimed beside it."""
        only = holdings.only  # it was claimed when nothing else was held
        return only is not None and only.job.worker_deaths >= RUN_ALONE_AFTER_DEATHS

    def choice(self, holdings: Holdings) -> bool | None:
        """Return the kind of jobs to claim, as ``claims.Wanted`` has it in ``alone``."""
        if holdings:
            return False
        return True if time.monotonic() < self._room_until else None

    def needs_no_room(self) -> None:
        """Note that none is waiting any more."""
        self._room_until = float("-inf")

    def wants_room(self, holdings: Holdings, one_waits: Callable[[], bool]) -> bool:
        """Return whether to claim nothing now: one runs, or room is being made for one that waits."""
        now = time.monotonic()
        if not holdings:
            self._ask_at = now + _ASK_SECONDS
            return False
        if self.runs(holdings):
            return True
        if now >= self._ask_at:
            self._ask_at = now + _ROOM_SECONDS + _ASK_SECONDS
            self._room_until = now + _ROOM_SECONDS if one_waits() else float("-inf")
        return now < self._room_until
