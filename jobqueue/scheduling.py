"""How a worker shares its time out among tenants, if the settings name something that knows better than in turn."""

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from jobqueue.conf import conf, imported


class Scheduler(Protocol):
    """What ``JOBQUEUE["SCHEDULER"]`` names: a class; each worker makes an object of it with weights and caps."""

    def share_out(self, room: int, names: Sequence[str]) -> Mapping[str, int]:
        """Return how many jobs to claim in which of the tenants, the first first; ``room`` in all at most."""

    def claimed(self, name: str, count: int) -> None:
        """Note that so many jobs of a tenant were claimed."""

    def ended(self, name: str, seconds: float) -> None:
        """Note that a job has ended, and what it took."""

    def returned(self, name: str, count: int) -> None:
        """Note that so many claimed jobs were given back."""


def scheduler() -> Scheduler | None:
    """Return a new one, as the settings name it; None: room is shared out evenly.

    Raises:
        ImproperlyConfigured: It can't be imported.
    """
    path = conf().scheduler
    if path is None:
        return None
    return cast(Scheduler, imported("SCHEDULER", path)(conf().weights, conf().caps))
