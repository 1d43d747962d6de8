"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable

from tests.stopwatch import Stopwatch


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    """Return once the condition holds; fail after so many seconds."""
    with Stopwatch() as watch:
        while not condition():
            assert watch.seconds < seconds, "waited in vain"
            time.sleep(0.02)
