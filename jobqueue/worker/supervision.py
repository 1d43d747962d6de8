"""Loops that come back: a loop that raises is started again, and one that keeps raising ends the process."""

import logging
import threading
import time
from collections.abc import Callable

from jobqueue.worker.connection_hygiene import close_connections

logger = logging.getLogger("jobqueue.worker")

#: A loop that has failed this often within the window is given up.
MAX_FAILURES = 5
WINDOW_SECONDS = 60.0


class SupervisedThread(threading.Thread):
    """A daemon thread that runs ``loop`` until it returns."""

    def __init__(self, name: str, loop: Callable[[], None], stopping: threading.Event) -> None:
        super().__init__(name=f"jobqueue-{name}", daemon=True)
        self._loop = loop
        self._stopping = stopping
        #: Whether the loop failed so often that it isn't started again.
        self.gave_up = False

    def run(self) -> None:
        """Run the loop, again after each failure with a growing pause."""
        failures: list[float] = []
        while not self._ran_to_its_end():
            now = time.monotonic()
            failures = [moment for moment in failures if moment > now - WINDOW_SECONDS] + [now]
            if len(failures) >= MAX_FAILURES:
                logger.critical("%s failed %s times within %.0f s; giving up", self.name, len(failures), WINDOW_SECONDS)
                self.gave_up = True
                break
            self._stopping.wait(2.0 ** len(failures) / 4)
        close_connections()

    def _ran_to_its_end(self) -> bool:
        try:
            self._loop()
        except BaseException:  # a loop must not end unnoticed, whatever ended it
            logger.exception("%s failed; it is started again", self.name)
            close_connections()
            return False
        return True
