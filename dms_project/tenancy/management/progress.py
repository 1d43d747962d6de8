"""A line on a terminal that says how far a command is."""

import time

from django.core.management.base import OutputWrapper

_WIDTH = 30
_PAUSE_SECONDS = 0.1


class Progress:
    """Draws a bar of the share of ``total`` that is done, at most ten times a second, and only where somebody looks."""

    def __init__(self, out: OutputWrapper) -> None:
        self.is_seen: bool = out.isatty()
        self.total = 0
        self._out = out
        self._done = 0
        self._drawn_at = 0.0

    def step(self) -> None:
        """Count one more."""
        self._done += 1
        now = time.monotonic()
        if self.is_seen and now - self._drawn_at > _PAUSE_SECONDS:
            self._drawn_at = now
            share = min(self._done / self.total, 1) if self.total else 1
            bar = "█" * round(share * _WIDTH)
            self._write(f"\r{bar:·<{_WIDTH}} {share:4.0%}  {self._done} of {self.total}")

    def clear(self) -> None:
        """Take the bar away: something else is to be written, or all is done."""
        if self._drawn_at:
            self._write("\r\x1b[K")
            self._drawn_at = 0.0

    def _write(self, text: str) -> None:
        self._out.write(text, style_func=str, ending="")  # not in the colour of errors
        self._out.flush()
