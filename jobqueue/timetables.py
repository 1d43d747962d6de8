"""When a schedule is due: pure functions of the time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from django.core.exceptions import ImproperlyConfigured

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
#: As far back as a slot is looked for: 29 February may be eight years ago.
_LONGEST_AGO = timedelta(days=10 * 366)
_UNITS = {"d": timedelta(days=1), "h": timedelta(hours=1), "min": timedelta(minutes=1), "s": _SECOND}
_INTERVAL = re.compile(r"every ([1-9][0-9]{0,8}) (d|h|min|s)")
_FIELDS = 5


class Timetable(Protocol):
    """The slots of a schedule, each a moment in UTC. Its ``str`` is a text that ``parse`` reads."""

    def latest(self, now: datetime) -> datetime | None:
        """Return the latest slot up to now, with it; None if there was none in ten years."""

    def next(self, now: datetime) -> datetime | None:
        """Return the first slot after now; None if there is none."""


@dataclass(frozen=True)
class Every:
    """A slot at each multiple of the interval since 1970 in UTC, so that all workers agree."""

    interval: timedelta

    def __post_init__(self) -> None:
        if not isinstance(self.interval, timedelta) or self.interval < _SECOND or self.interval % _SECOND:
            raise ValueError(f"every({self.interval!r}): give a timedelta of whole seconds, at least one.")

    def __str__(self) -> str:
        unit = next(name for name, length in _UNITS.items() if not self.interval % length)
        return f"every {self.interval // _UNITS[unit]} {unit}"

    def latest(self, now: datetime) -> datetime:
        """Return the latest slot up to now, with it."""
        return now.astimezone(UTC) - (now - _EPOCH) % self.interval

    def next(self, now: datetime) -> datetime:
        """Return the first slot after now."""
        return self.latest(now) + self.interval


@dataclass(frozen=True)
class Cron:
    """The slots of a cron expression in a time zone.

    Where the clock is switched, as in Debian's cron: an expression that names minute and hour has its slots once a day,
    at the first moment after a gap and at the first of two equal times; one with a ``*`` in minute or hour goes by real
    time.
    """

    expression: str
    timezone: str
    _zone: ZoneInfo = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.expression, str) or len(self.expression.split()) != _FIELDS:
            raise ValueError(f"cron({self.expression!r}): give minute, hour, day of month, month, and day of week.")
        try:
            object.__setattr__(self, "_zone", ZoneInfo(self.timezone))
        except (ValueError, TypeError, OSError, LookupError) as error:
            raise ValueError(f"cron({self.expression!r}): there is no time zone {self.timezone!r}.") from error
        try:
            self._from(_EPOCH)
        except ValueError as error:
            raise ValueError(f"cron({self.expression!r}): {error}.") from None

    def __str__(self) -> str:
        return " ".join([*self.expression.split(), self.timezone])

    def latest(self, now: datetime) -> datetime | None:
        """Return the latest slot up to now, with it; None if there was none in ten years."""
        ago = timedelta(minutes=1)
        while ago < _LONGEST_AGO:
            found = None
            for slot in self._from(now - ago):
                if slot > now:
                    break
                found = slot
            if found:
                return found
            ago *= 4
        return None

    def next(self, now: datetime) -> datetime | None:
        """Return the first slot after now; None if there is none."""
        return next((slot for slot in self._from(now) if slot > now), None)

    def _from(self, start: datetime) -> Iterator[datetime]:
        # Forwards only, for one rule at the switches: where a wall clock's time is there twice, the first slots may lie
        # before the start.
        simulation: Any = _simulator()(self.expression, start.astimezone(self._zone))
        return (slot.astimezone(UTC) for slot in simulation)


def parse(text: str) -> Timetable:
    """Return the timetable that a text describes, such as ``every 15 min`` or ``0 6 * * 1 Europe/Berlin``.

    Units are ``s``, ``min``, ``h`` and ``d``; a cron expression without a time zone is in UTC.

    Raises:
        ValueError: It describes none.
    """
    words = text.split()
    if interval := _INTERVAL.fullmatch(" ".join(words)):
        return Every(int(interval[1]) * _UNITS[interval[2]])
    if words[:1] == ["every"]:
        raise ValueError(f"{text!r}: give a number and a unit (s, min, h or d), as in 'every 15 min'.")
    return Cron(" ".join(words[:_FIELDS]), " ".join(words[_FIELDS:]) or "UTC")


def _simulator() -> Any:
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise ImproperlyConfigured("cron() needs the package cronsim: pip install 'jobqueue[cron]'.") from None

    def simulate(expression: str, start: datetime) -> Iterator[datetime]:
        try:
            return CronSim(expression, start)
        except CronSimError as error:
            raise ValueError(str(error)) from None

    return simulate
