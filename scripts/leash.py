"""Run a program that ends when its parent does, even if the parent is killed with -9.

This file is both the module that builds the command line and the program that runs in between, so it needs nothing but
the standard library. On Linux the kernel sends the signal; elsewhere the program just runs, and what a killed parent
left behind is ended by the next start.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pwd
    from collections.abc import Sequence

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def leashed(
    command: Sequence[str],
    stop_signal: signal.Signals = signal.SIGTERM,
    account: pwd.struct_passwd | None = None,
) -> list[str]:
    """Return the command line that runs ``command`` on a leash, as a child of this process.

    Start it from the thread that lives longest: to the kernel the thread is the parent.

    Args:
        command: Program and arguments.
        stop_signal: What the program gets when this process is gone.
        account: Whom root runs it as. Only here, since that account may be unable to reach Python itself.
    """
    identity = f"{account.pw_uid}:{account.pw_gid}" if account else "-"
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(int(stop_signal)), identity, *command]


def main(parent: str, stop_signal: str, identity: str, *command: str) -> None:
    if identity != "-":
        uid, gid = map(int, identity.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        # After the change of identity, which would clear it.
        if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(stop_signal)) != 0:
            sys.exit(f"error: prctl: {os.strerror(ctypes.get_errno())}")
        if os.getppid() != int(parent):  # it died before the request
            sys.exit(1)
    os.execvp(command[0], command)  # noqa: S606 - the whole point


if __name__ == "__main__":
    main(*sys.argv[1:])
