"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Return once the condition holds; fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
