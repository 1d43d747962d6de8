"""What commands print for people and read from them: tables, values, ages, and a bar for work that takes long."""

import json
import re
import time
from argparse import ArgumentTypeError
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import IO, Any

_CELL_MAX_CHARACTERS = 60
_BAR_CHARACTERS = 30
_REDRAW_SECONDS = 0.1


def text_of(value: Any) -> str:
    """Return a value as people read it; a dash for nothing. Times to the second, in UTC as the database gives them."""
    if value is None or value in ("", [], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def counted(jobs: int) -> str:
    """Return a number of jobs with the word."""
    return "1 job" if jobs == 1 else f"{jobs:,} jobs"


_UNITS = {"d": "days", "h": "hours", "m": "minutes", "": "seconds"}


def age(text: str) -> timedelta:
    """Read ``30d``, ``12h``, ``30m`` or ``0``.

    Raises:
        argparse.ArgumentTypeError: It is something else.
    """
    match = re.fullmatch(r"(\d{1,5})([dhm])|(0)", text)
    if not match:
        raise ArgumentTypeError(f"{text!r} is not an age such as 30d, 12h or 0")
    return timedelta(**{_UNITS[match[2] or ""]: int(match[1] or 0)})


def table(rows: Sequence[dict[str, Any]], *, whole: bool = False) -> list[str]:
    """Return the lines of a table with the names of the columns on top.

    Args:
        rows: At least one, all with the same keys.
        whole: Whether long values are not cut.
    """
    width = None if whole else _CELL_MAX_CHARACTERS
    cells = [[text_of(value)[:width] for value in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(list(rows[0]), *cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [list(rows[0]), *cells]
    ]


class ProgressBar:
    """A line that is drawn anew while work goes on; nothing where nobody looks, such as in a log."""

    def __init__(self, stream: IO[str], total: int) -> None:
        self._stream, self._total = stream, total
        self._is_seen = total > 0 and hasattr(stream, "isatty") and stream.isatty()
        self._drawn_at = float("-inf")

    def show(self, done: int, text: str = "") -> None:
        """Draw it, though not more often than eyes can follow."""
        if not self._is_seen or time.monotonic() - self._drawn_at < _REDRAW_SECONDS:
            return
        self._drawn_at = time.monotonic()
        filled = _BAR_CHARACTERS * min(done, self._total) // self._total
        bar = "#" * filled + "." * (_BAR_CHARACTERS - filled)
        self._stream.write(f"\r[{bar}] {done:,} of {self._total:,} {text}\033[K")
        self._stream.flush()

    def end(self) -> None:
        """Take the line away."""
        if self._is_seen:
            self._stream.write("\r\033[K")
            self._stream.flush()
