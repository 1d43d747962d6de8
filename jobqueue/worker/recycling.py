"""When a worker process wants to be replaced by a new one, and how it says so."""

import resource
import sys
from pathlib import Path

#: The exit status of a process that ends in order to be replaced (EX_TEMPFAIL: try again).
RECYCLED = 75


def memory_bytes() -> int:
    """Return how much memory this process has resident: now on Linux, at its peak elsewhere."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
