"""Asking something that may hang, such as a database, without hanging oneself."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from django.db import connections

Answer = TypeVar("Answer")

FRESH_SECONDS = 1.0  # an answer so young is given to the next caller too, so that many cost no more than one


class BoundedCheck(Generic[Answer]):
    """A check in a thread of its own, which may hang without taking the caller, or a second thread, with it."""

    def __init__(self, name: str, check: Callable[[], Answer], failed: Callable[[Exception], None], otherwise: Answer):
        """What ``check`` raises goes to ``failed``; that, or its silence, makes the answer ``otherwise``."""
        self._name = name
        self._check = check
        self._failed = failed
        self._otherwise = otherwise
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._answer = otherwise
        self._finished_at = 0.0

    def begin(self) -> None:
        """Start a new round, unless one is under way or has just ended."""
        with self._lock:
            under_way = self._thread is not None and self._thread.is_alive()
            if not under_way and time.monotonic() - self._finished_at > FRESH_SECONDS:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def answer(self, deadline: float) -> Answer:
        """Return the round's outcome; if it hasn't ended by ``deadline``, by the monotonic clock, ``otherwise``."""
        thread = self._thread
        if thread is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                return self._otherwise
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = self._check()
        except Exception as error:  # noqa: BLE001 - whatever it is, there is no answer
            self._failed(error)
            self._answer = self._otherwise
        finally:
            self._finished_at = time.monotonic()
            connections.close_all()
