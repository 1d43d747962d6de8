"""Where a worker learns which of many tenants have something to do, so that it needn't ask each of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, cast

from jobqueue.conf import conf, imported
from jobqueue.schedules import Schedule


class Ledger(Protocol):
    """What ``JOBQUEUE["LEDGER"]`` names: a class; each thread that asks makes an object of it with an alias."""

    def look(self) -> Mapping[str, float]:
        """Return the tenants with something to do, now or soon, each with the moment by ``time.monotonic``.

        One statement. Among them may be some that no longer exist.
        """

    def settle(self, tenant: str) -> bool:
        """Strike the tenant out if it has nothing to do, or note when it has; return whether that was possible.

        The tenant must be the active one, inside a transaction.
        """

    def forget(self, tenant: str) -> None:
        """Strike out a tenant that doesn't exist."""

    def without_schedules(self, tenants: Sequence[str], declared: Mapping[str, Schedule]) -> Sequence[str]:
        """Return those of the tenants that lack a schedule of theirs, or have it with other times. One statement."""

    def take_due_schedules(self, declared: Iterable[str], only: Sequence[str] | None) -> tuple[Sequence[str], float]:
        """Return tenants in which schedules are due, and in how many seconds one is if none is: infinity for never.

        Whoever calls it next is not told of the same ones for a while, so that workers share them out. One statement if
        nothing is due.

        Args:
            declared: The names that the caller knows from code; it also knows those that were made in the admin.
            only: In these tenants; None: in all.
        """

    def sweep(self, names: Callable[[], Sequence[str]]) -> float:
        """Look into some tenants whether the ledger has them, and return after how many seconds to do it again.

        Many workers that call it look into each of ``names`` once in ``JOBQUEUE["SWEEP_INTERVAL"]``.
        """


def ledger(using: str) -> Ledger | None:
    """Return a ledger for a database, as the settings name it; None: every tenant is asked.

    Raises:
        ImproperlyConfigured: It can't be imported.
    """
    path = conf().ledger
    if path is None:
        return None
    return cast(Ledger, imported("LEDGER", path)(using))
