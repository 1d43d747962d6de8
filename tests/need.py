"""Programs of the system that some tests use."""

import os
import shutil

import pytest

# Where Debian puts daemons; an ordinary user's PATH lacks it.
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin"


def need(program: str) -> str:
    """Return where the program is. Skip the test without it; under CI, where everything must be there, fail it."""
    found = shutil.which(program, path=_PATH)
    if found is None:
        reason = f"{program} is missing; as root, scripts/install-test-tools installs it"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    return found
