"""Database trouble that passes: how long to wait, and how much to say about it."""

import logging
import random

from django.db import InterfaceError, InternalError, OperationalError

from jobqueue.worker.connection_hygiene import drop_connection

logger = logging.getLogger("jobqueue.worker")

#: What passes by itself: a lost connection, a restart, a server that is read-only for now (InternalError).
WEATHER = (OperationalError, InterfaceError, InternalError)


class Weather:
    """Counts the failures in a row of one loop's connection.

    Says something at the first failure, then at ever rarer ones, and once when the trouble is over.
    """

    def __init__(self, using: str, who: str, *, longest_wait: float) -> None:
        self.using = using
        self.who = who
        self._longest = longest_wait
        self._failures = 0

    def bad(self, error: Exception) -> float:
        """Note a failure, drop the connection, and return the seconds to wait: doubling, capped, with jitter."""
        drop_connection(self.using)
        self._failures += 1
        wait = min(0.25 * 2.0 ** min(self._failures, 16), self._longest) * random.uniform(0.5, 1)  # noqa: S311 - jitter
        if self._failures & (self._failures - 1) == 0:  # the 1st, 2nd, 4th, 8th ...
            reason = str(error).strip().split("\n", 1)[0]
            logger.warning("%s: the database fails (%s); trying on (failure %s)", self.who, reason, self._failures)
        return wait

    def good(self) -> None:
        """Note that the database works."""
        if self._failures:
            logger.warning("%s: the database works again after %s failures", self.who, self._failures)
            self._failures = 0
