"""A file whose age tells a probe that a worker's process is at work, whatever the database does."""

import logging
import time
from pathlib import Path

logger = logging.getLogger("jobqueue.worker")

#: A probe should allow several times this: a machine may be busy.
TOUCH_SECONDS = 5.0


class HealthFile:
    """Touched by the loop that watches over all others, which ends the process if one of them hangs.

    So it grows old when the process is frozen or its own watch hangs, which nothing inside it can notice. It says
    nothing about jobs or the database: a busy worker, an idle one, and one that waits for the database are healthy.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._touched_at = float("-inf")
        self._has_failed = False

    def touch(self) -> None:
        """Touch it if it is time; a file that can't be touched is said once, and hinders nothing."""
        if time.monotonic() - self._touched_at < TOUCH_SECONDS:
            return
        self._touched_at = time.monotonic()
        try:
            self._path.touch()
        except OSError as error:
            if not self._has_failed:
                logger.warning("the health file can't be written: %s", error)
            self._has_failed = True
