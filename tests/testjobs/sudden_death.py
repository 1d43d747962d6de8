"""A worker that is killed at the moments when no signal from outside could hit it."""

import os
import signal
from typing import Any

from jobqueue.queue import Queue
from jobqueue.worker.slots import Slots

VARIABLE = "JOBQUEUE_TEST_DIES"

#: Right after the claim was committed; after the handler and before the outcome is written.
POINTS = {"claimed": (Slots, "submit"), "handled": (Queue, "complete_many")}


def arrange() -> None:
    """Let this process die at the point that the environment names, if it names one."""
    point = os.environ.get(VARIABLE)
    if point is not None:
        owner, name = POINTS[point]
        setattr(owner, name, _die)


def _die(*arguments: Any, **options: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
