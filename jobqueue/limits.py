"""How long a handler may run, where, and with how much."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from jobqueue.conf import conf

_NEVER = float("inf")

Isolation = Literal["thread", "process"]


@dataclass(frozen=True)
class Limits:
    """What ``@job_handler`` says about the running of a job type; its arguments mean the same.

    Raises:
        ValueError: A limit is of no use; the message names it.
    """

    timeout: timedelta | None = None  # None: the setting; timedelta.max: none
    soft_timeout: timedelta | None = None
    isolation: Isolation = "thread"
    memory_limit_bytes: int | None = None
    cpu_limit: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("timeout", "soft_timeout", "cpu_limit"):
            limit = getattr(self, name)
            if limit is not None and (not isinstance(limit, timedelta) or limit <= timedelta(0)):
                raise ValueError(f"{name} is {limit!r}: give a timedelta greater than zero.")
        if self.timeout is not None and self.soft_timeout is not None and self.soft_timeout >= self.timeout:
            raise ValueError(f"soft_timeout is {self.soft_timeout}: it must be shorter than timeout, {self.timeout}.")
        if self.isolation not in ("thread", "process"):
            raise ValueError(f"isolation is {self.isolation!r}: give 'thread' or 'process'.")
        memory = self.memory_limit_bytes
        if memory is not None and (not isinstance(memory, int) or isinstance(memory, bool) or memory <= 0):
            raise ValueError(f"memory_limit_bytes is {memory!r}: give an int greater than zero.")
        if self.isolation == "thread" and (memory is not None or self.cpu_limit is not None):
            raise ValueError("memory_limit_bytes and cpu_limit need isolation='process': threads share theirs.")

    @property
    def seconds(self) -> float:
        """How long an attempt may run; infinite if nothing limits it."""
        timeout = conf().timeout if self.timeout is None else self.timeout
        return _NEVER if timeout is None else _seconds(timeout)

    @property
    def soft_seconds(self) -> float:
        """After how long the handler is asked to end; infinite if it isn't."""
        return _NEVER if self.soft_timeout is None else _seconds(self.soft_timeout)


def _seconds(limit: timedelta) -> float:
    return _NEVER if limit == timedelta.max else limit.total_seconds()
