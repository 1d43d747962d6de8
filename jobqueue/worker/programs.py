"""The programs that handlers started and did not wait for. Linux; elsewhere they are left alone."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_THREADS = Path("/proc/self/task")


def end_programs(thread_id: int | None = None) -> None:
    """Kill what one thread of this process has started, or all of them; never raises.

    A program in a process group of its own is spared: it was meant to be on its own.

    Args:
        thread_id: The thread's ``native_id``; None: any thread's.
    """
    with suppress(OSError):
        threads = list(_THREADS.iterdir()) if thread_id is None else [_THREADS / str(thread_id)]
        for pid in _children(threads):
            with suppress(OSError):
                if os.getpgid(pid) == os.getpgrp():
                    os.kill(pid, signal.SIGKILL)


def _children(threads: Iterable[Path]) -> list[int]:
    found: list[int] = []
    for thread in threads:
        with suppress(OSError):  # it has ended meanwhile
            found += map(int, (thread / "children").read_text().split())
    return found
