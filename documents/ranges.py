"""The ``Range`` header of a request (RFC 9110, section 14)."""

import re
from dataclasses import dataclass

_SINGLE_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})\s*-\s*(\d{0,19})\s*", re.ASCII | re.IGNORECASE)


class RangeNotSatisfiable(Exception):
    """The range begins behind the end."""


@dataclass(frozen=True)
class ByteRange:
    """Bytes ``first`` to ``last``, both included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """Return the range asked for, cut to ``size``; None to send everything.

    A header that is malformed, or asks for several ranges, is ignored, as the standard allows.

    Raises:
        RangeNotSatisfiable: Answer 416.
    """
    match = _SINGLE_RANGE.fullmatch(header or "")
    if match is None or match.groups() == ("", ""):
        return None
    first_text, last_text = match.groups()
    if not first_text:
        length = min(int(last_text), size)
        if not length:
            raise RangeNotSatisfiable
        return ByteRange(size - length, size - 1)
    first = int(first_text)
    last = min(int(last_text), size - 1) if last_text else size - 1
    if last_text and int(last_text) < first:
        return None
    if first >= size:
        raise RangeNotSatisfiable
    return ByteRange(first, last)
