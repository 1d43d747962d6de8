"""What the verbs of ``manage.py documents`` have in common: durations, tenants, errors in a line."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.core.management.base import CommandError
from django.db import Error as DatabaseError

from dms_project.tenancy import PUBLIC, fleet
from dms_project.tenancy.exceptions import TenancyError
from dms_project.tenancy.names import listed
from documents.exceptions import StorageError

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> timedelta:
    """Read a duration: a number and a unit, or 0.

    Raises:
        ValueError: It is none.
    """
    found = re.fullmatch(r"(\d{1,6})([smhd]?)", text)
    if not found or (not found[2] and text != "0"):
        raise ValueError
    return timedelta(**{_UNITS[found[2] or "s"]: int(found[1])})


duration.__name__ = "duration, such as 24h, 30m or 0"  # argparse puts it into its message


def existing(tenant: str) -> str:
    """Return the name of a tenant, which must exist.

    Raises:
        CommandError: It doesn't.
    """
    names = [name for name in fleet.names() if name != PUBLIC]
    if tenant not in names:
        raise CommandError(f"There is no tenant {tenant}; there are {listed(names)}.")
    return tenant


@contextmanager
def errors_in_a_line(status: int) -> Iterator[None]:
    """Turn what may pass, or is for somebody else to mend, into one line and an exit status."""
    try:
        yield
    except CommandError as error:
        error.returncode = status
        raise
    except StorageError as error:
        raise CommandError(f"The storage can't be used: {error}", returncode=status) from error
    except TenancyError as error:
        raise CommandError(f"{error} See: manage.py tenant list", returncode=status) from error
    except DatabaseError as error:
        said = str(error).strip().partition("\n")[0]
        raise CommandError(
            f"The database can't be used: {said}. Is it there, and migrated (manage.py migrate)?", returncode=status
        ) from error
