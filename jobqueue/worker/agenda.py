"""Whom a worker looks into, and when: every tenant again and again, or where there is a ledger those that it has."""

import random
import time
from collections.abc import Callable, Sequence

from jobqueue.conf import conf
from jobqueue.ledger import Ledger
from jobqueue.tenant_source import TenantSource
from jobqueue.worker.rota import AGAIN_SECONDS, Rota

#: How much rarer an idle worker looks while it is known to hear wake-ups: at tenants, and at the ledger.
_RARER_WHEN_HEARING = 4
_LEDGER_RARER_WHEN_HEARING = 6
#: How long the list of tenants is believed: without a ledger, and with one, which itself tells of new ones.
_FRESH_SECONDS = 2.0
_FRESH_SECONDS_WITH_LEDGER = 60.0
#: How often tenants that nobody knows make it be read again at most.
_STRANGERS_SECONDS = 1.0
#: A wake-up is for all workers, and one is enough: each waits for a random part of this for each of the others.
_STAGGER_SECONDS = 0.005
_MOST_STAGGER_SECONDS = 0.02
#: How long the number of workers is believed.
_FLEET_FRESH_SECONDS = 30.0
#: What comes so soon in a tenant is remembered: while the ledger has it as due for others, it doesn't tell of that.
_REMEMBERED_SECONDS = 60.0
#: For how long a tenant must have been without a job for a worker to strike it out: another one often follows soon.
_QUIET_SECONDS = 1.0


class Agenda:
    """Belongs to the dispatcher's thread. What may ask the database says so; times are of ``time.monotonic``.

    Args:
        tenants: Who there is.
        only: Whose jobs are served; None: everybody's.
        ledger: Tells who has something to do; None: each is asked.
        hears: Tells whether wake-ups are known to come.
        count_workers: Asks the database how many workers there are, this one included; 0 if it can't tell.
    """

    def __init__(
        self,
        tenants: TenantSource,
        only: Sequence[str] | None,
        ledger: Ledger | None,
        hears: Callable[[], bool],
        count_workers: Callable[[], int] = lambda: 1,
    ) -> None:
        self._tenants = tenants
        self._only = only
        self._ledger = ledger
        self._hears = hears
        self._rota = Rota()
        self._in_order: Sequence[str] = ()
        self._known: set[str] = set()
        self._read_at = self._look_at = self._counted_at = float("-inf")
        self._look_again_at = float("inf")
        self._count_workers = count_workers
        self._others = 0
        # When tenants were last seen to have a job, and to have none (more) for us; and when they were woken.
        self._found_at: dict[str, float] = {}
        self._empty_at: dict[str, float] = {}
        self._woken_at: dict[str, float] = {}
        #: The tenants in which jobs may be running, so that somebody must look for dead workers there.
        self.busy: Sequence[str] = ()

    def serves(self, name: str) -> bool:
        """Return whether a tenant exists and is served, as far as was known at the last reading."""
        return name in self._known and (self._only is None or name in self._only)

    @property
    def served(self) -> set[str]:
        """All tenants that exist and are served."""
        return self._known if self._only is None else self._known.intersection(self._only)

    @property
    def names(self) -> list[str]:
        """Who is on the agenda, the one not served for longest first."""
        return self._rota.names

    # What may ask the database

    def refresh(self) -> bool:
        """Read who there is and who has something to do, if that is old; return whether the former was."""
        now = time.monotonic()
        if self._ledger is None:
            if now - self._read_at <= _FRESH_SECONDS:
                return False
            self._read_names()
            self._rota.serve(filter(self.serves, self._in_order), now)
            self.busy = self.names
            return True
        if now < self._look_at:
            return False
        read_at = self._read_at
        self._look(self._ledger)
        return self._read_at != read_at

    def everybody(self) -> list[str]:
        """Return all in whom something may be due, as of this moment; also who had nothing a moment ago."""
        self._look_at = float("-inf") if self._ledger else self._look_at
        self.refresh()
        return list(self.busy)

    def reread(self) -> None:
        """Read who there is, since somebody is in trouble who may have been deleted."""
        self._read_at = float("-inf")
        if self._ledger is None:
            self.refresh()
            return
        self._read_names()
        for name in set(self.names) - self._known:
            self._strike_out(self._ledger, name)

    def settle(self, name: str) -> None:
        """Have a tenant struck out in which nothing is due, in the transaction of the visit that says so.

        Not if it had a job a moment ago: then another one often follows.
        """
        quiet = time.monotonic() - self._found_at.get(name, float("-inf")) > _QUIET_SECONDS
        if self._ledger and quiet and self._ledger.settle(name):
            self._found_at.pop(name, None)

    def _look(self, ledger: Ledger) -> None:
        began = time.monotonic()
        found = ledger.look()
        strangers = found.keys() - self._known
        if began - self._read_at > (_STRANGERS_SECONDS if strangers else _FRESH_SECONDS_WITH_LEDGER):
            self._read_names()  # after the look: whoever is in it and not here doesn't exist
            for name in strangers - self._known:
                self._strike_out(ledger, name)
            for name in [name for name in self.names if not self.serves(name)]:
                self._rota.drop(name)
        served = {name: self._not_too_soon(name, at) for name, at in found.items() if self.serves(name)}
        self._rota.expect(served)
        self._empty_at = {name: at for name, at in self._empty_at.items() if name in served}
        self._woken_at = {name: at for name, at in self._woken_at.items() if at > began - _FRESH_SECONDS}
        self.busy = list(served)
        self._look_at = min(began + self._poll_seconds(_LEDGER_RARER_WHEN_HEARING), self._look_again_at)
        self._look_again_at = float("inf")
        if began - self._counted_at > _FLEET_FRESH_SECONDS:
            self._counted_at = began
            self._others = max(0, self._count_workers() - 1)

    def _not_too_soon(self, name: str, at: float) -> float:
        """Return when to look into a tenant that the ledger has: one that had nothing for us was perhaps not woken."""
        empty_at = self._empty_at.get(name, float("-inf"))
        woken_at = max(self._woken_at.get(name, float("-inf")), self._woken_at.get("", float("-inf")))
        if empty_at > woken_at + AGAIN_SECONDS:
            return max(at, empty_at + self._poll_seconds(_RARER_WHEN_HEARING))
        return at

    def _read_names(self) -> None:
        self._in_order = list(self._tenants.names())
        self._known = set(self._in_order)
        self._read_at = time.monotonic()

    def _strike_out(self, ledger: Ledger, name: str) -> None:
        ledger.forget(name)
        self._rota.drop(name)
        self._found_at.pop(name, None)

    # What doesn't

    def wake(self, name: str) -> None:
        """Note that a tenant has something, or if ``name`` is empty and no tenant's, that any may have.

        The latter is also said when other tenants are to be served than before.
        """
        now = time.monotonic()
        if self._ledger is None:  # then who is served is read again soon anyway
            self._rota.wake(name, now)
        elif self.serves(name) or name not in self._known:  # all, or a new one
            stagger = min(self._others * _STAGGER_SECONDS, _MOST_STAGGER_SECONDS)
            look_at = now + random.uniform(0, stagger)  # noqa: S311 - jitter
            self._look_at = min(self._look_at, look_at)
            self._woken_at[name] = look_at
            if not name:
                self._read_at = float("-inf")
            # And once more, for what commits while no second wake-up is sent.
            self._look_again_at = look_at + AGAIN_SECONDS

    def woken(self, name: str) -> bool:
        """Return whether somebody has woken a tenant since the last call, as far as is known without a ledger."""
        return self._rota.woken(name)

    def due(self) -> list[str]:
        """Return whom to look into now, the one not served for longest first."""
        return self._rota.due(time.monotonic())

    def looked(self, name: str, began: float, *, found: bool, next_in: float | None) -> None:
        """Note a look, and in how many seconds the next is due for what was seen there; None: for nothing."""
        if found:
            self._found_at[name] = time.monotonic()
        if next_in != 0:
            self._empty_at[name] = began
        if self._ledger is None:
            poll = self._poll_seconds(_RARER_WHEN_HEARING)
            self._rota.looked(name, began, found=found, again_in=poll if next_in is None else min(poll, next_in))
        else:
            soon = next_in is not None and next_in <= _REMEMBERED_SECONDS
            self._rota.looked(name, began, found=found, again_in=float(next_in or 0) if soon else float("inf"))

    def seconds_to_next(self) -> float:
        """Return for how long nobody is due, and nothing is to be read."""
        now = time.monotonic()
        reading = self._read_at + _FRESH_SECONDS if self._ledger is None else self._look_at
        return max(0.0, min(self._rota.seconds_to_next(now), reading - now))

    def _poll_seconds(self, rarer_when_hearing: int) -> float:
        rarer = rarer_when_hearing if self._hears() else 1
        return conf().poll_interval.total_seconds() * rarer * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
