"""Which tenants a worker looks into now, and in which order."""

from collections.abc import Iterable, Mapping

from jobqueue.wakeup import QUIET_SECONDS

#: Whoever was woken looks again after this, for what committed while no second wake-up was sent.
AGAIN_SECONDS = QUIET_SECONDS + 0.005


class Rota:
    """Remembers when each tenant is to be looked into next; times are of one monotonic clock, in seconds."""

    def __init__(self) -> None:
        # In the order of service: whoever was served last stands last.
        self._next: dict[str, float] = {}
        self._again: dict[str, float] = {}
        self._woken: set[str] = set()

    @property
    def names(self) -> list[str]:
        """All tenants, the one not served for longest first."""
        return list(self._next)

    def serve(self, names: Iterable[str], now: float) -> None:
        """Set whom there is to serve; those who are new are looked into at once."""
        wanted = list(names)
        gone = set(self._next) - set(wanted)
        for name in gone:
            self.drop(name)
        new = {name: now for name in wanted if name not in self._next}
        self._next = new | self._next

    def expect(self, moments: Mapping[str, float]) -> None:
        """Set from when on to look into tenants; of the others those stay that are to be looked into at some time."""
        never = float("inf")
        for name in [name for name, at in self._next.items() if at == never and name not in self._again]:
            if name not in moments:
                self.drop(name)
        for name in moments.keys() & self._next:
            self._next[name] = min(moments[name], self._next[name])
        self._next = {name: at for name, at in moments.items() if name not in self._next} | self._next

    def drop(self, name: str) -> None:
        """Look into a tenant no more."""
        self._next.pop(name, None)
        self._again.pop(name, None)
        self._woken.discard(name)

    def wake(self, name: str, now: float) -> None:
        """Note that a tenant has something, or if ``name`` is empty and no tenant's, that any may have."""
        for woken in [name] if name in self._next else [] if name else self.names:
            self._next[woken] = now
            self._woken.add(woken)
            self._again[woken] = now + AGAIN_SECONDS

    def woken(self, name: str) -> bool:
        """Return whether somebody has woken a tenant since the last call."""
        if name not in self._woken:
            return False
        self._woken.discard(name)
        return True

    def due(self, now: float) -> list[str]:
        """Return whom to look into now, the one not served for longest first."""
        return [name for name, at in self._next.items() if at <= now or self._again.get(name, now + 1) <= now]

    def looked(self, name: str, now: float, *, found: bool, again_in: float) -> None:
        """Note a look that began at ``now``, and when the next is due; whoever had something goes to the end."""
        if self._again.get(name, now + 1) <= now:
            del self._again[name]
        if name in self._next:
            if found:
                self._next.pop(name)
            self._next[name] = now + again_in

    def seconds_to_next(self, now: float) -> float:
        """Return for how long nobody is due."""
        moments = [*self._next.values(), *self._again.values()]
        return max(0.0, min(moments, default=now + 60) - now)
