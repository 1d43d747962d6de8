"""Turn a missing or malformed environment variable into one line on stderr instead of a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from environs import EnvError


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End the process with status 1 and one line if the settings, read inside, refuse the environment."""
    try:
        yield
    except EnvError as error:
        sys.exit(f"error: {str(error).rstrip('.')}; see docs/reference/environment.md")
