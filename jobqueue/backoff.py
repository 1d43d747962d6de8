"""When a failed job is tried again: arithmetic that the database does, on the row it changes."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, Value
from django.db.models.functions import Least

#: Takes the number of attempts so far as a database expression (1 after the first) and returns the delay before
#: the next one as an expression of type interval.
Backoff = Callable[[Any], Any]


def linear(step: timedelta = timedelta(seconds=30), *, cap: int = 10) -> Backoff:
    """Return a policy that waits ``LEAST(attempts, cap) * step``: it grows with each attempt, up to ``cap`` steps."""

    def delay(attempts: Any) -> Any:
        return ExpressionWrapper(Least(attempts, Value(cap)) * Value(step), output_field=DurationField())

    return delay


def constant(delay: timedelta) -> Backoff:
    """Return a policy that always waits ``delay``; zero means at once."""
    return lambda attempts: Value(delay, output_field=DurationField())


default = linear()


def next_delay(policy: Backoff) -> Any:
    """Return the delay of a row that is being failed, by its own count of attempts."""
    return policy(F("attempts"))
