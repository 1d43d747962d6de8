"""Several worker processes under one parent, which replaces the ones that die."""

import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from types import FrameType

from jobqueue.worker.recycling import RECYCLED

logger = logging.getLogger("jobqueue.worker")

#: Tells a child which of the processes it is, from 1; it then runs one worker whatever ``--processes`` says.
CHILD_NUMBER = "JOBQUEUE_WORKER_PROCESS"
#: Tells a child whose child it is: by the time that it could ask, its parent may be gone and another's in its place.
PARENT = "JOBQUEUE_WORKER_PARENT"

_LONGEST_PAUSE = 30.0
#: A child that lived this long had a good start: its next death is followed by a short pause again.
_SETTLED_SECONDS = 60.0


@dataclass
class _Child:
    number: int
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    deaths: int = 0
    start_at: float = field(default_factory=time.monotonic)


class WorkerProcesses:
    """Runs this very command ``count`` times.

    A child that ends with status 0 has done its work (``--drain``); one that ends with ``RECYCLED`` is replaced at
    once; any other end is a death, and the child is replaced after a growing pause. Signals are passed on.
    """

    def __init__(self, count: int) -> None:
        self._children = [_Child(number) for number in range(1, count + 1)]
        self._signals: list[int] = []
        self._ended_badly = False

    def run(self) -> int:
        """Run until all children have ended; returns 0, or 1 if one ended badly while stopping."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        passed_on = 0
        while self._children:
            while passed_on < len(self._signals):
                self._pass_on(self._signals[passed_on])
                passed_on += 1
            self._look_after_children()
            time.sleep(0.1)
        return 1 if self._ended_badly else 0

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._signals.append(number)

    def _pass_on(self, number: int) -> None:
        for child in self._children:
            if child.process is not None and child.process.poll() is None:
                child.process.send_signal(number)

    def _look_after_children(self) -> None:
        """Start them, bury those that died, and replace them unless told to stop."""
        now = time.monotonic()
        for child in list(self._children):
            if child.process is None:
                if self._signals:
                    self._children.remove(child)
                elif now >= child.start_at:
                    self._start(child)
            elif (status := child.process.poll()) is not None:
                # Ended by the very signal that was passed on: it was still starting, and held nothing.
                if status == 0 or -status in self._signals or (status == RECYCLED and self._signals):
                    self._children.remove(child)
                elif status == RECYCLED:
                    logger.info("worker process %s is replaced", child.number)
                    self._start(child)
                elif self._signals:
                    self._children.remove(child)
                    self._ended_badly = True
                else:
                    self._bury(child, status)

    def _start(self, child: _Child) -> None:
        environment = os.environ | {CHILD_NUMBER: str(child.number), PARENT: str(os.getpid())}
        # A session of its own, so that the terminal's Ctrl-C reaches it once: through us.
        child.process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, *sys.orig_argv[1:]], env=environment, start_new_session=True
        )
        child.started_at = time.monotonic()

    def _bury(self, child: _Child, status: int) -> None:
        now = time.monotonic()
        child.deaths = 1 if now - child.started_at > _SETTLED_SECONDS else child.deaths + 1
        pause = min(2.0 ** (child.deaths - 1) / 2, _LONGEST_PAUSE)
        logger.error("worker process %s ended with status %s; replaced in %.1f s", child.number, status, pause)
        child.process = None
        child.start_at = now + pause
