"""What process 1 of a container owes to it: to pass signals on, and to take leave of every process that ends.

The kernel ignores signals that process 1 hasn't asked for, and gives it the orphans of all others, which stay zombies
until it waits for them. A worker does neither for processes that it doesn't know.
"""

import os
import signal
from collections.abc import Set
from types import FrameType

_PASSED_ON: Set[signal.Signals] = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}


def go_on_in_a_child_if_first() -> None:
    """Return in a child if this is process 1, which stays behind and ends with the child's status.

    To be called before there are threads or connections. Anywhere else it does nothing.
    """
    if os.getpid() != 1:
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _PASSED_ON)  # none may come while nobody would pass it on
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return

    def pass_on(number: int, frame: FrameType | None) -> None:
        os.kill(child, number)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)  # as a shell tells of a signal
