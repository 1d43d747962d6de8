"""The program that forks a child for each isolated job; ``jobqueue.worker.isolation`` starts it and talks to it.

It sets Django up once and has no thread and no connection, so a child costs a fork. On its control socket a worker
asks for children; with each request come the child's channel and its leash. The leash tells the worker of the child's
end, and lets the child be killed when the worker lets go of it, by will or by dying.
"""

import gc
import os
import selectors
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import django
from django.db import connections

#: What is told through a leash: the child's process id when it begins, its status when it has ended.
NUMBER = struct.Struct("i")
#: Stands in the place of a child's status if there was no child: the system has no room for a process more.
NOT_FORKED = 2**31 - 1
_LOOK_FOR_PARENT_SECONDS = 1.0


def _ignore(number: int, frame: FrameType | None) -> None:
    """Do nothing. Unlike SIG_IGN it isn't passed on to the programs that handlers start."""


class _ForkServer:
    def __init__(self, control: socket.socket, parent: int, live: Callable[[socket.socket, int], None]) -> None:
        self._live = live
        self._control = control
        self._parent = parent
        self._pid = os.getpid()
        self._leashes: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._alarm, self._ring = socket.socketpair()
        self._alarm.setblocking(False)
        self._ring.setblocking(False)
        self._selector.register(self._alarm, selectors.EVENT_READ)
        signal.set_wakeup_fd(self._ring.fileno(), warn_on_full_buffer=False)

    def serve(self) -> None:
        """Fork, kill and bury until the worker is gone."""
        while os.getppid() == self._parent:
            for key, _ in self._selector.select(_LOOK_FOR_PARENT_SECONDS):
                if key.fileobj is self._control:
                    if not self._fork():
                        return
                elif key.fileobj is self._alarm:
                    with suppress(BlockingIOError):
                        self._alarm.recv(2**12)
                elif key.data in self._leashes:
                    self._kill(key.data)
            self._bury()

    def end(self) -> None:
        """Leave no child."""
        for pid in self._leashes:
            _kill_group(pid)

    def _fork(self) -> bool:
        request, numbers, _, _ = socket.recv_fds(self._control, 1, 2)
        if not request:
            return False
        channel, leash = (socket.socket(fileno=number) for number in numbers)
        channel.set_inheritable(False)
        leash.set_inheritable(False)
        with channel:
            try:
                pid = os.fork()
            except OSError as error:
                print(f"no process could be forked for a handler: {error}", file=sys.stderr, flush=True)
                _tell(leash, 0)
                _tell(leash, NOT_FORKED)
                leash.close()
                return True
            if pid == 0:
                leash.close()
                self._be_born(channel)
        _tell(leash, pid)
        self._leashes[pid] = leash
        self._selector.register(leash, selectors.EVENT_READ, pid)
        return True

    def _be_born(self, channel: socket.socket) -> None:
        """In the child: let go of all that is the server's, and live. Never returns."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            for each in (self._control, self._alarm, self._ring, *self._leashes.values()):
                each.close()
            self._live(channel, self._pid)
        except BaseException:  # noqa: BLE001 - whatever it is, the worker hears of the end and the log of the reason
            traceback.print_exc()
        finally:
            os._exit(1)

    def _kill(self, pid: int) -> None:
        self._selector.unregister(self._leashes[pid])  # else its end would be told again and again
        _kill_group(pid)

    def _bury(self) -> None:
        for pid, leash in list(self._leashes.items()):
            # First only looked at, so that its number is still its own while its group is ended.
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                continue
            _kill_group(pid)
            _, status = os.waitpid(pid, 0)
            with suppress(KeyError):
                self._selector.unregister(leash)
            _tell(leash, os.waitstatus_to_exitcode(status))
            leash.close()
            del self._leashes[pid]


def _tell(leash: socket.socket, number: int) -> None:
    with suppress(OSError):  # nobody may hear it
        leash.send(NUMBER.pack(number))


def _kill_group(pid: int) -> None:
    """Kill a child that has not been buried, and the group that it leads, if it has come so far."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def main(control: str, parent: str) -> None:
    """Get ready, say so, and serve."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, _ignore)
    django.setup()
    connections.close_all()  # should an app have used one while it was being set up
    from jobqueue.worker.isolated_child import live  # with Django set up, and once for all children

    gc.collect()
    gc.freeze()  # so that the garbage collector of a child doesn't copy every page
    server = _ForkServer(socket.socket(fileno=int(control)), int(parent), live)
    os.write(int(control), b"r")
    try:
        server.serve()
    finally:
        server.end()
