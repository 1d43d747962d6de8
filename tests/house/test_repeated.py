"""What failed while the machine stood still is run again, and nothing else is."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house.clone import TREE
from tests.stopwatch import Stopwatch

SLEEP_IT_OFF = """
import os, signal, subprocess
from pathlib import Path
import pytest

runs = []

@pytest.fixture
def fresh():
    return []

def stand_still():
    subprocess.Popen(["sh", "-c", f"sleep 1.2; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)

def test_robbed(fresh):
    fresh.append(1)
    assert fresh == [1]
    runs.append(1)
    if len(runs) == 1:
        stand_still()
        raise AssertionError("somebody else was first")

def test_broken():
    runs.append("broken")
    assert runs.count("broken") > 1

def test_broken_and_robbed():
    stand_still()
    raise AssertionError("in any case")
"""


def test_a_failure_is_repeated_if_and_only_if_the_machine_stood_still(tmp_path: Path) -> None:
    (tmp_path / "test_robbed.py").write_text(SLEEP_IT_OFF)
    plugins = ["no:django", "no:schemathesis", "no:hypothesispytest", "no:cacheprovider", "tests.repeated"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(tmp_path), "-q", "test_robbed.py"]
        + [word for plugin in plugins for word in ("-p", plugin)],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(TREE)}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert "2 failed, 1 passed, 3 repeated" in run.stdout, run.stdout + run.stderr
    assert run.stdout.count("REPEATED test_robbed.py::test_robbed: it failed while this machine stood still") == 1
    assert "FAILED test_robbed.py::test_broken -" in run.stdout
    assert "FAILED test_robbed.py::test_broken_and_robbed -" in run.stdout


def test_a_stopwatch_leaves_out_the_time_for_which_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with Stopwatch() as watch:
        time.sleep(0.2)
        assert watch.seconds + watch.stood_still > 0.1
        away = 3600.0
        real = time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + away)
        assert watch.seconds < away / 2
        assert watch.stood_still > away / 2
        assert watch.longest_standstill > away / 2
