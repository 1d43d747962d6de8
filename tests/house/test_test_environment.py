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

from scripts.postgres import EmbeddedPostgres
from scripts.postgres_home import PostgresHome, lay_out
from tests.house.clone import clean_environment, eventually, make

# A test that uses the database, and one that says that it runs and goes on for long.
PLANTED = """
import time
from pathlib import Path

def test_short(django_db_setup): pass

def test_long():
    Path("running").touch()
    time.sleep(100)
"""


@pytest.fixture
def home(clone: Path) -> Iterator[PostgresHome]:
    """Where the clone's test server would be."""
    (clone / "tests/test_planted.py").write_text(PLANTED)
    home = lay_out(clone / "var/test-postgres")
    home.remove()
    yield home
    left = EmbeddedPostgres(clone / "var/test-postgres")
    left.end_leftover()
    left.home.remove()


def begin_long_test(clone: Path) -> psutil.Popen:
    run = psutil.Popen(
        ["make", f"VENV={sys.prefix}", "test", "ARGS=tests/test_planted.py -k long"],
        cwd=clone, env=clean_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    eventually((clone / "running").exists, 60)
    return run


def test_an_interrupted_a_killed_and_a_whole_run_leave_nothing_behind(clone: Path, home: PostgresHome) -> None:
    interrupted = begin_long_test(clone)
    processes = interrupted.children(recursive=True)
    os.killpg(interrupted.pid, signal.SIGINT)  # as Ctrl-C does
    assert interrupted.wait(30) != 0
    assert psutil.wait_procs(processes, timeout=10)[1] == []
    assert not home.base.exists()

    (clone / "running").unlink()
    killed = begin_long_test(clone)
    processes = killed.children(recursive=True)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert psutil.wait_procs(processes, timeout=10)[1] == []

    whole = make(clone, "test", "ARGS=tests/test_planted.py -k short")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert "1 passed" in whole.stdout
    assert not home.base.exists()


def test_reset_removes_what_a_killed_run_left(clone: Path, home: PostgresHome) -> None:
    killed = begin_long_test(clone)
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
