"""One worker process: starts the loops, watches over them, and stops in an orderly way."""

import logging
import os
import signal
import sys
import threading
import time
from queue import SimpleQueue
from types import FrameType

from jobqueue import handlers
from jobqueue.conf import conf
from jobqueue.queue import Queue
from jobqueue.tenant_source import TenantSource
from jobqueue.worker import events
from jobqueue.worker.dispatcher import Dispatcher, News
from jobqueue.worker.health_file import HealthFile
from jobqueue.worker.isolation import ForkServer
from jobqueue.worker.keeper import Keeper
from jobqueue.worker.own_session import LOOK_SECONDS
from jobqueue.worker.recycling import RECYCLED, memory_bytes
from jobqueue.worker.scheduler import Scheduler
from jobqueue.worker.service import Service
from jobqueue.worker.supervision import SupervisedThread

logger = logging.getLogger("jobqueue.worker")

#: How long a thread that computes keeps the loops waiting: they have little to do, and much waits for it. Python's own
#: five milliseconds, waited for at each answer from the database, are a quarter of a short job's cost.
_SWITCH_SECONDS = 0.001
#: How long giving jobs back may take when the worker ends, before it ends without.
_GIVING_BACK_SECONDS = 5.0


class Worker:
    """Serves jobs until it is told to stop.

    The first SIGTERM or SIGINT lets running jobs finish within ``JOBQUEUE["SHUTDOWN_GRACE"]`` and then gives back what
    still runs, its attempt not counted; the second gives it back at once.

    A worker that is worn out (it has run ``max_jobs``, uses too much memory, or as many handlers hang as it has
    threads) claims no more, finishes what runs, however long that takes, and ends to be replaced.

    Args:
        service: What is served.
        queue: Where the jobs are.
        tenants: Whose jobs are served.
        parent: Process id of the process that started this one; when that is gone, the worker stops. None: nobody's.
        max_memory_bytes: The process ends to be replaced when it has more resident; None: it doesn't.
        health_file: Kept young while the process is at work; None: none.
    """

    def __init__(
        self,
        service: Service,
        queue: Queue,
        tenants: TenantSource,
        *,
        parent: int | None = None,
        max_memory_bytes: int | None = None,
        health_file: HealthFile | None = None,
    ) -> None:
        self._parent = parent
        self._health_file = health_file
        self._service = service
        self._max_memory_bytes = max_memory_bytes
        self._fork_server = ForkServer(queue.using)
        news: News = SimpleQueue()
        self._keeper = Keeper(queue, tenants, news.put)
        self._dispatcher = Dispatcher(service, queue, tenants, self._keeper, self._fork_server, news)
        self._scheduler = Scheduler(queue, tenants, service.only_tenants)
        self._ending = threading.Event()
        self._threads = [
            SupervisedThread("keeper", self._keeper.run, self._ending),
            SupervisedThread("timekeeper", self._dispatcher.timekeeper.keep, self._ending),
            SupervisedThread("recorder", self._dispatcher.recorder.run, self._ending),
            SupervisedThread("dispatcher", self._dispatcher.run, self._ending),
        ]
        if not service.drain:  # which works off what is due, and makes no more of it
            self._threads.append(SupervisedThread("scheduler", self._scheduler.run, self._ending))
        self._worn_out = ""
        self._signals = 0
        #: Whether handlers still run after ``run`` has returned: the process must then end hard, without waiting.
        self.left_running = False

    def run(self) -> int:
        """Work until stopped or drained.

        Returns:
            The exit status: 0; ``RECYCLED`` if the process is worn out and to be replaced; or 1 if a loop gave up, jobs
            could not be given back, or a tenant not be drained.

        Raises:
            NoForkServer: Handlers need processes of their own, and the process that forks them can't be started.
        """
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._on_signal)
        events.started(self._service)  # not before a signal that answers it would be heeded
        if any(handlers.registered()[name].limits.isolation == "process" for name in self._service.job_types):
            self._fork_server.start()
        sys.setswitchinterval(_SWITCH_SECONDS)
        for thread in self._threads:
            thread.start()
        status = self._watch()
        self._ending.set()
        self._keeper.stop()
        self._dispatcher.timekeeper.stop()
        self._dispatcher.recorder.stop()
        self._scheduler.stop()
        self._fork_server.stop()
        self.left_running |= self._dispatcher.hanging > 0
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
        self._show_health()
        while not self._dispatcher.finished.wait(LOOK_SECONDS):
            now = time.monotonic()
            self._recycle_if_worn_out()
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
                logger.critical("could not let go of %s jobs; their locks will go stale", self._dispatcher.held)
                return 1
            if self._can_not_go_on():
                self.left_running = True
                return 1
            self._show_health()
        self._recycle_if_worn_out()
        if self._worn_out and not self._signals:
            return RECYCLED
        undrained = self._service.drain and not self._signals and self._dispatcher.tenants_in_trouble
        return 1 if undrained else 0

    def _show_health(self) -> None:
        if self._health_file is not None:
            self._health_file.touch()

    def _can_not_go_on(self) -> bool:
        """Return whether a loop was given up, or waits for the database in a way that can't be helped."""
        for loop in (self._keeper, self._dispatcher, self._dispatcher.recorder, self._scheduler):
            if not loop.session.look():
                logger.critical("a loop hangs; ending, so that whoever supervises this process starts it anew")
                return True
        return any(thread.gave_up for thread in self._threads)

    def _recycle_if_worn_out(self) -> None:
        if self._worn_out or self._signals:
            return
        self._worn_out = self._why_worn_out()
        if self._worn_out:
            events.recycling(self._service, self._worn_out, self._dispatcher.running)
            self._dispatcher.stop()

    def _why_worn_out(self) -> str:
        if self._dispatcher.has_run_its_jobs:
            return f"it has run {self._service.max_jobs} jobs"
        if (hanging := self._dispatcher.hanging) >= self._service.concurrency:
            return f"as many handlers hang as it has threads, {hanging}"
        if self._max_memory_bytes is not None and (memory := memory_bytes()) > self._max_memory_bytes:
            return f"it uses {memory >> 20} MB of memory"
        return ""
