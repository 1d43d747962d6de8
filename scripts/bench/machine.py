"""The machine: what it is, and what else it did while something was measured."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress

import psutil

# CPU time of processes whose parent was killed before them: no process that lives has it among its children's.
_orphans_seconds: list[float] = []

#: Cores used by other processes from which on a repeat counts as disturbed.
DISTURBED_CORES = 0.2


def describe() -> dict[str, str]:
    """Return what figures depend on."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": str(psutil.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "python": platform.python_version(),
    }


def _processor() -> str:
    with suppress(OSError), open("/proc/cpuinfo") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class OtherLoad:
    """The CPU time of processes that are neither ours nor the server's, from now on."""

    def __init__(self, server: psutil.Process | None) -> None:
        self._server = server
        self._started_at = time.monotonic()
        self._before = self._others_seconds()

    def cores(self) -> float:
        """Return how many cores the others kept busy on average."""
        elapsed = max(time.monotonic() - self._started_at, 0.01)
        return max(0.0, (self._others_seconds() - self._before) / elapsed)

    def _others_seconds(self) -> float:
        times = psutil.cpu_times()
        busy = sum(times) - times.idle - getattr(times, "iowait", 0.0)
        busy -= getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)  # counted in user and nice already
        return busy - self._own_seconds()

    def _own_seconds(self) -> float:
        """Ours with all that ended, and those of our descendants and the server's that live, with all that ended."""
        seconds = sum(os.times()[:4]) + sum(_orphans_seconds)
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                seconds += sum(process.cpu_times()[:4])
        return seconds

    def _family(self) -> set[psutil.Process]:
        family = set(psutil.Process().children(recursive=True))
        if self._server is not None:
            with suppress(psutil.NoSuchProcess):
                family |= {self._server, *self._server.children(recursive=True)}
        return family


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its descendants."""
    return sum(sum(process.cpu_times()[:2]) for process in _tree(pid))


def resident_bytes(pid: int) -> int:
    """Return the memory that a process and its descendants hold."""
    return sum(process.memory_info().rss for process in _tree(pid))


def end_tree(pid: int) -> None:
    """Kill a process and its descendants, and wait until they are gone."""
    processes = _tree(pid)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            if process.pid != pid:
                _orphans_seconds.append(sum(process.cpu_times()[:4]))
            process.kill()
    psutil.wait_procs(processes, timeout=10)


def _tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []
