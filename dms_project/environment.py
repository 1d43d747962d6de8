"""Reads settings from environment variables. Loaded by every start of a program, so it needs little itself."""

import os
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

_TRUE = {"true", "t", "yes", "y", "on", "1"}
_FALSE = {"false", "f", "no", "n", "off", "0"}
_UNITS = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds"}


class InvalidEnvironment(Exception):
    """A variable is missing, or says what can't be. The text names it, and never says its value: that may be secret."""

    def __init__(self, name: str, complaint: str) -> None:
        super().__init__(f"the environment variable {name} {complaint}")


class Environment:
    """The process's variables, by type. Each reader raises ``InvalidEnvironment``.

    A variable that is set is never replaced by the default, not even if it is empty: that may be a mistake.
    """

    def boolean(self, name: str, default: bool) -> bool:
        """Read true or false, on or off, yes or no, 1 or 0, in large or small letters."""
        given = os.environ.get(name)
        if given is None:
            return default
        if (word := given.strip().lower()) not in _TRUE | _FALSE:
            raise InvalidEnvironment(name, "must be true or false")
        return word in _TRUE

    def integer(self, name: str, default: int, *, least: int, most: int | None = None) -> int:
        """Read a whole number."""
        given = os.environ.get(name)
        bounds = f"{least} or more" if most is None else f"between {least} and {most}"
        try:
            number = default if given is None else int(given)
        except ValueError:
            raise InvalidEnvironment(name, f"must be a whole number, {bounds}") from None
        if number < least or (most is not None and number > most):
            raise InvalidEnvironment(name, f"must be {bounds}")
        return number

    def text(self, name: str, default: str | None = None, *, least: int = 0) -> str:
        """Read a text of at least so many characters; None: it is required."""
        given = os.environ.get(name, default)
        if given is None:
            raise InvalidEnvironment(name, "is not set")
        if len(given) < least and name in os.environ:
            raise InvalidEnvironment(name, f"must have at least {least} characters")
        return given

    def choice(self, name: str, default: str, choices: Sequence[str]) -> str:
        """Read one of some words."""
        if (given := os.environ.get(name, default)) not in choices:
            raise InvalidEnvironment(name, f"must be one of: {', '.join(choices)}")
        return given

    def matching(self, name: str, default: str, pattern: str, description: str) -> str:
        """Read a text that the whole pattern matches; the description says to people what that is."""
        if not re.fullmatch(pattern, given := os.environ.get(name, default)):
            raise InvalidEnvironment(name, f"must be {description}")
        return given

    def duration(self, name: str, default: timedelta, *, least: timedelta) -> timedelta:
        """Read numbers with units, the largest first, as in 90s or 1h 30m; one without a unit is of seconds."""
        given = os.environ.get(name)
        duration = default if given is None else _duration(given)
        if duration is None:
            raise InvalidEnvironment(name, "must be a duration, such as 90s, 30m or 24h")
        if duration < least:
            raise InvalidEnvironment(name, f"must be a duration of at least {least.total_seconds():g} s")
        return duration

    def url(self, name: str) -> str | None:
        """Read the address of a web server, if one is given."""
        given = os.environ.get(name)
        if given is not None and not _is_web_address(given):
            raise InvalidEnvironment(name, "must be a URL that begins with https:// or http://")
        return given

    def database(self, name: str, **options: Any) -> dict[str, Any]:
        """Read the URL of a PostgreSQL database, as Django wants it in ``DATABASES``."""
        import dj_database_url

        given = self.text(name)
        try:
            read = dict(dj_database_url.parse(given, **options))
        except ValueError:
            read = {}
        if read.get("ENGINE") != "django.db.backends.postgresql":
            raise InvalidEnvironment(name, "must be of the form postgresql://user:password@host:port/name")
        return read


def _duration(text: str) -> timedelta | None:
    if re.fullmatch(r"\s*-?\d+\s*", text):
        return timedelta(seconds=int(text))
    parts = "".join(rf"(?:(-?\d+)\s*{unit}\s*)?" for unit in _UNITS)
    found = re.fullmatch(rf"\s*{parts}", text)
    if not found or not any(found.groups()):
        return None
    numbers = zip(_UNITS.values(), found.groups(), strict=True)
    return timedelta(**{unit: int(number) for unit, number in numbers if number})


def _is_web_address(text: str) -> bool:
    try:
        address = urlsplit(text)
        _ = address.port  # which may be none
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname) and not re.search(r"\s", text)
