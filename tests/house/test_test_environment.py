"""``make test`` and ``make reset-test-env`` leave nothing behind, whatever the run before did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from scripts.leash import leashed
from scripts.postgres import EmbeddedPostgres
from scripts.postgres_home import PostgresHome, lay_out
from tests.house.clone import clean_environment, eventually, make

# A test that uses the database, and one that says that it runs, with a program of its own, and goes on for long.
PLANTED = """
import subprocess
from pathlib import Path
from scripts.leash import leashed

def test_short(django_db_setup): pass

def test_long(django_db_setup):
    with subprocess.Popen(leashed(["sleep", "1000"])):
        Path(__file__).with_suffix(".running").touch()
"""
# Without tenants, which take most of the time in which a database is made: what is left behind, or isn't, is databases.
NO_TENANTS = "\nTENANTS.clear()\n"
PROCESSES = 2  # each gets a file
UNUSED = "-p no:schemathesis -p no:hypothesispytest"  # plugins that take half of the time in which pytest starts

# Each run makes databases, beside all the other tests; a run that nobody stops takes far longer than this.
pytestmark = pytest.mark.timeout(300)
ENDS_WITHIN_SECONDS = 90


@pytest.fixture
def home(clone: Path) -> Iterator[PostgresHome]:
    """Where the clone's test server would be."""
    for number in range(PROCESSES):
        (clone / f"tests/test_planted_{number}.py").write_text(PLANTED)
    with (clone / "tests/conftest.py").open("a") as conftest:
        conftest.write(NO_TENANTS)
    home = lay_out(clone / "var/test-postgres")
    home.remove()
    yield home
    left = EmbeddedPostgres(clone / "var/test-postgres")
    left.end_leftover()
    left.home.remove()


def begin_long_tests(clone: Path) -> psutil.Popen:
    """Run a long test in each of two processes, and return once they do."""
    files = " ".join(f"tests/test_planted_{number}.py" for number in range(PROCESSES))
    run = psutil.Popen(
        leashed(["make", f"VENV={sys.prefix}", "test", f"ARGS={files} -k long -n {PROCESSES} {UNUSED}"]),
        cwd=clone, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    eventually(lambda: len(running(clone)) == PROCESSES, 60)
    return run


def running(clone: Path) -> list[Path]:
    return list((clone / "tests").glob("*.running"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing_behind(number: signal.Signals, clone: Path, home: PostgresHome) -> None:
    begun = begin_long_tests(clone)
    processes = begun.children(recursive=True)
    if number == signal.SIGINT:
        os.killpg(begun.pid, number)  # as Ctrl-C does
    else:
        begun.send_signal(number)
    assert begun.wait(ENDS_WITHIN_SECONDS) != 0
    assert psutil.wait_procs(processes, timeout=20)[1] == []
    assert not home.base.exists()


def test_after_a_run_that_was_killed_a_whole_one_leaves_nothing_behind(clone: Path, home: PostgresHome) -> None:
    killed = begin_long_tests(clone)
    processes = killed.children(recursive=True)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert psutil.wait_procs(processes, timeout=30)[1] == []

    whole = make(clone, "test", f"ARGS=tests/test_planted_0.py -k short {UNUSED}")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert "1 passed" in whole.stdout
    assert not home.base.exists()


def test_reset_removes_what_a_killed_run_left(clone: Path, home: PostgresHome) -> None:
    killed = begin_long_tests(clone)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert home.base.exists()

    assert make(clone, "reset-test-env").returncode == 0
    assert not home.base.exists()


def test_reset_drops_and_rebuilds_the_test_databases_and_no_other(pristine_clone: Path, tmp_path: Path) -> None:
    server = EmbeddedPostgres(tmp_path / "postgres", durable=False)
    try:
        with server.running() as url, psycopg.connect(url, autocommit=True) as connection:
            for name in ("test_dms", "test_dms_gw0", "test_dmsx"):
                connection.execute(f"CREATE DATABASE {name}")
            with psycopg.connect(url, dbname="test_dms") as left_open:
                left_open.execute("CREATE TABLE left_behind ()")
                left_open.commit()

                reset = subprocess.run(
                    ["scripts/reset-test-env"], cwd=pristine_clone, capture_output=True, text=True,
                    env=clean_environment(DATABASE_URL=url, VENV=sys.prefix), timeout=60,
                )  # fmt: skip

            assert reset.returncode == 0, reset.stdout + reset.stderr
            rows = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'test%'").fetchall()
            assert {name for (name,) in rows} == {"test_dmsx"}, "the suite removes what it builds"
            assert "Dropped test_dms.\nDropped test_dms_gw0.\n" in reset.stdout
            assert "1 passed" in reset.stdout
    finally:
        server.home.remove()
