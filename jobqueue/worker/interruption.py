"""Raise an exception inside a function that another thread is calling, and nowhere else in that thread."""

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from jobqueue.exceptions import Interruption

Argument = TypeVar("Argument")
Result = TypeVar("Result")

_set_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_set_async_exc.argtypes = [ctypes.c_ulong, ctypes.py_object]


class _TakenBack(Interruption):
    """Takes the place of an interruption that has not been raised yet."""


class InterruptibleCall:
    """One call, which other threads may interrupt while it lasts.

    CPython raises such an exception between two bytecodes of the thread, some time after it was asked for: so before
    the call is over for whoever made it, what is still to come is taken back. A call into C (a sleep, a read) is not
    cut short; the exception comes when it returns.
    """

    #: How many interruptions are delivered at most. Each may strike while the call is being closed, which is
    #: therefore done as often: either one closing is whole, or all interruptions have been raised.
    MOST = 2
    __slots__ = ("_interrupting", "_open", "_sent", "_thread")

    def __init__(self) -> None:
        self._thread = 0
        self._open = False
        self._interrupting = False
        self._sent = 0

    def __call__(self, function: Callable[[Argument], Result], argument: Argument) -> Result:
        """Return ``function(argument)``. Once this has returned or raised, the thread gets no interruption any more."""
        self._thread = threading.get_ident()
        try:
            try:
                self._open = True
                return function(argument)
            finally:
                self._close()
        finally:
            self._close()

    def interrupt(self, exception: type[Interruption]) -> bool:
        """Raise the exception inside the call. To be called by one thread only.

        Returns:
            False if it is to be tried again, since the thread is just where an exception would leave a lock behind
            that the whole process needs. True if the exception is on its way, or can't come any more.
        """
        self._interrupting = True
        try:
            if not self._open or self._sent == self.MOST:
                return True
            if _is_delicate(sys._current_frames().get(self._thread)):
                return False
            self._sent += 1
            _set_async_exc(self._thread, exception)
            return True
        finally:
            self._interrupting = False

    @property
    def interrupted(self) -> bool:
        """Whether an interruption was asked for. No longer changes once the call is over."""
        return self._sent > 0

    def _close(self) -> None:
        # Without a lock, since an exception in here might leave it locked. Whoever interrupts shows that first and then
        # looks whether the call is open; here it is the other way round: so one of the two sees the other.
        self._open = False
        while self._interrupting:
            time.sleep(0)
        if self._sent:
            # Not by taking back without a replacement, after which Python 3.11 looks for the exception at each turn of
            # each thread, for ever.
            try:
                _set_async_exc(self._thread, _TakenBack)
                while True:
                    time.sleep(0)
            except _TakenBack:
                pass


def _is_delicate(frame: FrameType | None) -> bool:
    """Return whether the thread may be just before or after taking a lock that others wait for, outside of a ``with``.

    Logging (before Python 3.13), importing, and what ``threading`` implements in Python do that.
    """
    if frame is None:
        return False
    module = frame.f_globals.get("__name__")
    if module == "threading":
        return frame.f_code.co_name != "wait"  # where threads spend their time, and which puts its lock in order
    return module in ("logging", "importlib._bootstrap")
