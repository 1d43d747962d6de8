"""Turn a missing or malformed variable, or a database that is away, into one line on stderr instead of a traceback."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dms_project.environment import InvalidEnvironment


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the process with status 1 and one line if the settings refuse the environment, or the database is away."""
    try:
        yield
    except InvalidEnvironment as error:
        sys.exit(f"error: {error}; see docs/reference/environment.md")
    except BrokenPipeError:  # whoever read the output has enough, as `head` has; nothing may be written any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        from django.db import InterfaceError, OperationalError  # the web server's first answer must not wait for Django

        if "--traceback" in sys.argv or not isinstance(error, InterfaceError | OperationalError | UnicodeEncodeError):
            raise
        if isinstance(error, UnicodeEncodeError):
            sys.exit("error: an argument contains bytes that are no text; check how it was typed")
        reason = str(error).strip().partition("\n")[0]
        sys.exit(f"error: the database can't be used: {reason}; check DATABASE_URL and the server, then try again")
