"""Waiting for what must become true, instead of sleeping for as long as it might take."""

import time
from collections.abc import Callable
from typing import TypeVar

from tests.stopwatch import Stopwatch

T = TypeVar("T")


def eventually(condition: Callable[[], T], *, within: float = 20.0, what: str = "") -> T:
    """Return the first true answer of ``condition``; fail when there was none ``within`` the seconds."""
    with Stopwatch() as watch:
        while not (answer := condition()):
            assert watch.seconds < within, f"not within {within} s: {what or condition}"
            time.sleep(0.02)
    return answer
