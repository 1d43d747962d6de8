"""Limits that a process puts on itself before it touches a document. Linux; elsewhere only what exists is applied."""

import ctypes
import os
import resource
import signal
import sys
import threading

from documents.processing.limits import Limits

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_OPEN_FILES = 64


def end_session_on(number: signal.Signals) -> None:
    """Have a signal end this process and whatever it will have started. To be called before it has other threads.

    A thread waits for it, since the main one may be in the middle of a call into C.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})

    def wait() -> None:
        signal.sigwait({number})
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def confine(
    limits: Limits, parent_pid: int, *, file_bytes: int = 0, parent_dies: signal.Signals = signal.SIGKILL
) -> None:
    """Bind this process to its parent's life, bound its resources, and cut it off from the network.

    What it starts inherits all of that but the bond to the parent.

    The network goes by a namespace of its own. Where the kernel refuses that (some containers do), the process keeps
    its network; it never has credentials: its environment is empty.

    Args:
        file_bytes: How large a file may become that it writes; 0: it can't write.
        parent_dies: The signal that it gets then.

    Raises:
        SystemExit: The parent died before the process was bound to it.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_PR_SET_PDEATHSIG, parent_dies, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.unshare(_CLONE_NEWNET) != 0:
            libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    if os.getppid() != parent_pid:
        sys.exit(1)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, file_bytes)
    _limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    _limit(resource.RLIMIT_CPU, limits.seconds, grace=1)  # SIGXCPU tells, SIGKILL a second later does not
    _limit(resource.RLIMIT_AS, limits.memory_bytes)


def _limit(which: int, value: int, grace: int = 0) -> None:
    """Lower a limit for good; one that is lower already stays."""
    present = resource.getrlimit(which)[1]
    hard = value + grace if present == resource.RLIM_INFINITY else min(value + grace, present)
    resource.setrlimit(which, (min(value, hard), hard))
