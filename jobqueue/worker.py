"""One worker process: starts the loops, watches over them, and stops in an orderly way."""

import logging
import os
import signal
import threading
import time
from queue import SimpleQueue
from types import FrameType

from jobqueue.conf import conf
from jobqueue.dispatcher import Dispatcher, News, Service
from jobqueue.keeper import Keeper
from jobqueue.own_session import LOOK_SECONDS
from jobqueue.queue import Queue
from jobqueue.supervision import SupervisedThread
from jobqueue.tenant_source import TenantSource

logger = logging.getLogger("jobqueue.worker")

#: How long giving jobs back may take when the worker ends, before it ends without.
_GIVING_BACK_SECONDS = 5.0


class Worker:
    """Serves jobs until it is told to stop.

    The first SIGTERM or SIGINT lets running jobs finish within ``JOBQUEUE["SHUTDOWN_GRACE"]`` and then gives back what
    still runs, its attempt not counted; the second gives it back at once.

    Args:
        service: What is served.
        queue: Where the jobs are.
        tenants: Whose jobs are served.
        parent: Process id of the process that started this one; when that is gone, the worker stops. None: nobody's.
    """

    def __init__(self, service: Service, queue: Queue, tenants: TenantSource, *, parent: int | None = None) -> None:
        self._parent = parent
        self._drain = service.drain
        news: News = SimpleQueue()
        self._keeper = Keeper(queue, tenants, news.put)
        self._dispatcher = Dispatcher(service, queue, tenants, self._keeper, news)
        self._ending = threading.Event()
        self._threads = [
            SupervisedThread("keeper", self._keeper.run, self._ending),
            SupervisedThread("dispatcher", self._dispatcher.run, self._ending),
        ]
        self._signals = 0
        #: Whether handlers still run after ``run`` has returned: the process must then end hard, without waiting.
        self.left_running = False

    def run(self) -> int:
        """Work until stopped or drained.

        Returns:
            The exit status: 0, or 1 if a loop gave up, jobs could not be given back, or a tenant not be drained.
        """
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._on_signal)
        for thread in self._threads:
            thread.start()
        status = self._watch()
        self._ending.set()
        self._keeper.stop()
        if not self.left_running:
            for thread in self._threads:
                thread.join(_GIVING_BACK_SECONDS)
        return status

    def stop(self) -> None:
        """What a signal does: the first call stops gracefully, a second one hurries."""
        self._signals += 1
        self._dispatcher.stop()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stop()

    def _watch(self) -> int:
        """Wait for the end, and see to it that it comes."""
        stop_by = give_up_by = float("inf")
        while not self._dispatcher.finished.wait(LOOK_SECONDS):
            now = time.monotonic()
            if self._parent is not None and os.getppid() != self._parent and not self._signals:
                logger.warning("the parent process is gone; stopping")
                self.stop()
            if self._signals and stop_by == float("inf"):
                grace = conf().shutdown_grace.total_seconds()
                stop_by = now + grace
                logger.info("stopping: %s jobs still run, waiting up to %.0f s", self._dispatcher.running, grace)
            if (self._signals > 1 or now > stop_by) and give_up_by == float("inf"):
                give_up_by = now + _GIVING_BACK_SECONDS
                self.left_running = True
                self._dispatcher.give_back()
            if now > give_up_by:
                logger.critical("could not give %s jobs back; their locks will go stale", self._dispatcher.running)
                return 1
            if self._can_not_go_on():
                self.left_running = True
                return 1
        undrained = self._drain and not self._signals and self._dispatcher.tenants_in_trouble
        return 1 if undrained else 0

    def _can_not_go_on(self) -> bool:
        """Return whether a loop was given up, or waits for the database in a way that can't be helped."""
        for loop in (self._keeper, self._dispatcher):
            if not loop.session.look():
                logger.critical("a loop hangs; ending, so that whoever supervises this process starts it anew")
                return True
        return any(thread.gave_up for thread in self._threads)
