"""Hearing wake-ups, on the connection of the thread that calls."""

import select
import time
from collections.abc import Callable
from threading import Event

from django.db import connections

from jobqueue.wakeup import CHANNEL, cancelled_job, notify

#: How long one wait lasts at most, so that a stop is noticed soon.
_SLICE_SECONDS = 0.1
#: How often the listener sends itself something, to know that it hears, and how soon it must have come.
_PROBE_SECONDS = 30.0
_PROBE_MUST_COME_WITHIN = 5.0


class Listener:
    """Listens on one connection, and proves again and again that it does.

    A listener that hears nothing can't be told from one whose session lost its LISTEN (a pooler in transaction mode,
    an UNLISTEN by somebody), hence the probes.

    Args:
        using: The database's alias.
        name: Unique among all listeners; what it calls itself by.
        wake: Called with each payload of a wake-up.
        cancelled: Called with tenant and id of a job that was cancelled, running or not.
    """

    def __init__(
        self, using: str, name: str, wake: Callable[[str], None], cancelled: Callable[[tuple[str, int]], None]
    ) -> None:
        self._using = using
        self._probe = f"\n{name}"  # no tenant has a line break in its name
        self._wake = wake
        self._cancelled = cancelled
        self._session: object | None = None
        self._probe_sent_at = float("-inf")
        self._waiting_for_probe = False
        #: Whether it is known to hear: polling can be rare.
        self.hears = False

    def prepare(self) -> None:
        """Listen if the connection is a new one, and send a probe if it is time for one."""
        connection = connections[self._using]
        now = time.monotonic()
        if connection.connection is not self._session:
            self.hears = False
            with connection.cursor() as cursor:
                cursor.execute(f"LISTEN {CHANNEL}")
            self._session = connection.connection
            self._probe_sent_at = float("-inf")
        elif self._waiting_for_probe and now - self._probe_sent_at > _PROBE_MUST_COME_WITHIN:
            self.hears = False
            self._session = None  # listens anew at the next call
        if now - self._probe_sent_at > _PROBE_SECONDS:
            self._probe_sent_at = now
            self._waiting_for_probe = True
            notify(self._using, self._probe)

    def lost(self) -> None:
        """Note that the connection is in trouble."""
        self.hears = False
        self._session = None

    def wait(self, seconds: float, done: Event) -> None:
        """Pass on what comes for so long, or until ``done``; return soon when a job was cancelled."""
        raw = connections[self._using].connection
        # psycopg's own wait spins through its last millisecond: ten times a second, that was most of what idling cost.
        poll = select.poll()
        poll.register(raw.fileno(), select.POLLIN)
        end = time.monotonic() + seconds
        while True:
            told = [self._hear(message.payload) for message in raw.notifies(timeout=0)]
            left = end - time.monotonic()
            if any(told) or done.is_set() or left <= 0:
                return
            poll.poll(1_000 * min(left, _SLICE_SECONDS))

    def _hear(self, payload: str) -> bool:
        """Return whether it tells of a cancelled job."""
        cancelled = cancelled_job(payload)
        if cancelled:
            self._cancelled(cancelled)
            return True
        if payload == self._probe:
            self._waiting_for_probe = False
            if not self.hears:
                self.hears = True
                self._wake("")  # whatever came while it was deaf
        elif not payload.startswith("\n"):
            self._wake(payload)
        return False
