"""When a worker has room for a job that must run alone, since two workers that ran it have died.

After one death it runs beside others: mostly it was one of several that a deploy or the out-of-memory killer hit, and
long ones would have to wait for each other. Two deaths in a row make it, or one of its neighbours, a suspect.
"""

import time

from jobqueue.models import RUN_ALONE_AFTER_DEATHS
from jobqueue.worker.holdings import Holdings

#: A worker that has been busy for so long asks in each tenant that it visits whether such a job waits for room.
_ASK_SECONDS = 5.0
#: How long it then claims nothing, so that what runs can end; after that another worker may have more luck.
_ROOM_SECONDS = 10.0


class Lonely:
    """Belongs to a dispatcher; decides what kind of job may be claimed beside those that run."""

    def __init__(self) -> None:
        self._busy_since = time.monotonic()
        # When tenants were asked since then.
        self._asked_at: dict[str, float] = {}
        self._waits_in: str | None = None
        self._room_until = float("-inf")

    def leaves_no_room(self, holdings: Holdings) -> bool:
        """Return whether to claim nothing now: such a job runs, or room is being made for one that waits."""
        if not holdings:
            self._busy_since = time.monotonic()
            self._asked_at.clear()
            return False
        return self.waits_in is not None or self._runs(holdings)

    def _runs(self, holdings: Holdings) -> bool:
        only = holdings.only  # it was claimed when nothing else was held
        return only is not None and only.job.worker_deaths >= RUN_ALONE_AFTER_DEATHS

    @property
    def waits_in(self) -> str | None:
        """The tenant in which one waits for room; None: nowhere, as far as is known."""
        return self._waits_in if time.monotonic() < self._room_until else None

    def choice(self, holdings: Holdings) -> bool | None:
        """Return the kind of jobs to claim, as ``claims.Wanted`` has it in ``alone``."""
        if holdings:
            return False
        return None if self.waits_in is None else True

    def asks(self, tenant: str) -> bool:
        """Return whether it is time to ask in a tenant whether one waits there; the answer comes in ``waits``."""
        now = time.monotonic()
        if now - max(self._busy_since, self._asked_at.get(tenant, self._busy_since)) < _ASK_SECONDS:
            return False
        self._asked_at[tenant] = now
        return True

    def waits(self, tenant: str) -> None:
        """Note that one waits in a tenant: room is made for a while."""
        self._waits_in = tenant
        self._room_until = self._busy_since = time.monotonic() + _ROOM_SECONDS

    def needs_no_room(self) -> None:
        """Note that none waits any more."""
        self._room_until = float("-inf")
