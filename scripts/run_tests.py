"""``make test``: pytest on the server that DATABASE_URL names, or on an embedded one that lasts as long as the run.

The whole suite, or whole folders of it, run in several processes; anything else in one, which starts sooner.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from scripts.leash import leashed
from scripts.postgres import EmbeddedPostgres, PostgresError
from scripts.postgres_home import HomeError
from scripts.reset_test_env import TEST_SERVER


@contextmanager
def database_url() -> Iterator[str]:
    """The URL of a server for tests: nothing of an embedded one is left behind."""
    if given := os.environ.get("DATABASE_URL"):
        yield given
        return
    server = EmbeddedPostgres(TEST_SERVER, durable=False)
    try:
        with server.running() as url:
            yield url
    finally:
        server.home.remove()


def spread(arguments: list[str]) -> list[str]:
    """Return what makes pytest use several processes (see tests/parallel.py), if ``arguments`` select enough for it."""
    return ["--numprocesses=auto"] if all(Path(argument).is_dir() for argument in arguments) else []


def interrupt(pytest: subprocess.Popen[bytes]) -> None:
    """Do what Ctrl-C in a terminal does: interrupt pytest and the processes that it spreads the tests over."""
    process = psutil.Process(pytest.pid)
    for each in (process, *process.children()):
        with suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGINT)


def main() -> int:
    # Where whoever started us had it ignored, as shells do for jobs in the background, pytest would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with database_url() as url:
            command = leashed([sys.executable, "-m", "pytest", *spread(sys.argv[1:]), *sys.argv[1:]])
            environment = os.environ | {"DATABASE_URL": url}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # tests start many programs, which would compile anew
            pytest = subprocess.Popen(command, env=environment)
            # Ctrl-C reaches pytest from the terminal; a SIGTERM is passed on as one, so that it tears down too.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, lambda *_: interrupt(pytest))
            return pytest.wait()
    except (HomeError, PostgresError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    sys.exit(main())
