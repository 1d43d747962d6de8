"""The process manager, with real processes."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from scripts.leash import leashed
from scripts.process_manager import FIRST_DELAY, HEALTHY_SECONDS, LONGEST_DELAY, next_delay
from tests.house.clone import TREE, eventually
from tests.stopwatch import Stopwatch

# Runs each argument as a program for sh, named a, b, c, until it is told to stop.
DRIVER = """
import asyncio, sys
from scripts.leash import leashed
from scripts.process_manager import ProcessManager, Program

async def main():
    manager = ProcessManager("abc")
    manager.stop_on_signals()
    for name, script in zip("abc", sys.argv[1:]):
        manager.start(Program(name, leashed(["sh", "-c", script]), grace_seconds=1))
    await manager.stop_requested.wait()
    await manager.stop(*"abc")

asyncio.run(main())
"""


class Managed:
    def __init__(self, log: Path, scripts: tuple[str, ...]) -> None:
        self.log = log
        with log.open("wb") as out:
            command = leashed([sys.executable, "-c", DRIVER, *scripts])
            self.process = psutil.Popen(command, cwd=TREE, stdout=out, stderr=out)

    def lines(self, name: str) -> list[str]:
        """What one program, or the manager about it, has printed so far."""
        return re.findall(rf"^{name} \| (.*)$", self.log.read_text(), re.MULTILINE)

    def wait_for(self, name: str, line: str) -> None:
        eventually(lambda: line in self.lines(name))

    def pids(self, name: str) -> list[int]:
        return [int(line.removeprefix("pid ")) for line in self.lines(name) if line.startswith("pid ")]


@pytest.fixture
def manage(tmp_path: Path) -> Iterator[Callable[..., Managed]]:
    started: list[Managed] = []

    def start(*scripts: str) -> Managed:
        started.append(Managed(tmp_path / f"log{len(started)}", scripts))
        return started[-1]

    yield start
    for managed in started:
        for process in (
            (*managed.process.children(recursive=True), managed.process) if managed.process.is_running() else ()
        ):
            process.kill()
        managed.process.wait()


def test_each_line_carries_the_name_of_its_program(manage: Callable[..., Managed]) -> None:
    managed = manage("echo one; echo two >&2; printf three; sleep 100 </dev/null", "echo other; exec sleep 100")
    managed.wait_for("a", "two")
    managed.wait_for("b", "other")
    managed.process.send_signal(signal.SIGTERM)
    managed.process.wait(10)
    assert managed.lines("a") == ["one", "two", "three"]
    assert managed.lines("b") == ["other"]


def test_a_program_that_dies_is_started_again_and_the_others_run_on(manage: Callable[..., Managed]) -> None:
    managed = manage("echo pid $$; exec sleep 100", "echo pid $$; exec sleep 100")
    eventually(lambda: managed.pids("a") and managed.pids("b"))
    psutil.Process(managed.pids("a")[0]).kill()
    eventually(lambda: len(managed.pids("a")) == 2)
    assert "killed by SIGKILL; starting again in 0.5 s" in managed.lines("a")
    assert len(managed.pids("b")) == 1


def test_the_pause_before_a_restart_grows_while_a_program_keeps_dying(manage: Callable[..., Managed]) -> None:
    managed = manage("exit 3")
    managed.wait_for("a", "ended with status 3; starting again in 1 s")
    assert managed.lines("a")[0] == "ended with status 3; starting again in 0.5 s"


def test_the_pause_is_bounded_and_starts_anew_after_a_healthy_time() -> None:
    delays = [0.0]
    for _ in range(10):
        delays.append(next_delay(delays[-1], ran_for=1))
    assert delays[1:4] == [FIRST_DELAY, FIRST_DELAY * 2, FIRST_DELAY * 4]
    assert delays[-1] == LONGEST_DELAY
    assert next_delay(LONGEST_DELAY, ran_for=HEALTHY_SECONDS) == FIRST_DELAY


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_everything_cleanly(number: signal.Signals, manage: Callable[..., Managed]) -> None:
    managed = manage(
        "trap 'echo bye; exit 0' TERM; echo pid $$; while :; do sleep 0.05; done", "echo pid $$; sleep 100"
    )
    eventually(lambda: managed.pids("a") and managed.pids("b"))
    children = managed.process.children(recursive=True)
    managed.process.send_signal(number)
    assert managed.process.wait(30) == 0
    assert "bye" in managed.lines("a")
    assert psutil.wait_procs(children, timeout=20)[1] == []


def test_a_program_that_ignores_the_request_is_killed_after_its_grace(manage: Callable[..., Managed]) -> None:
    managed = manage("trap '' TERM; echo pid $$; while :; do sleep 0.05; done")
    eventually(lambda: managed.pids("a"))
    started = time.monotonic()
    with Stopwatch() as watch:
        managed.process.send_signal(signal.SIGTERM)
        managed.process.wait(30)
        assert watch.seconds < 5
    assert time.monotonic() - started >= 1
    assert "did not stop within 1 s; killed" in managed.lines("a")
    assert not psutil.pid_exists(managed.pids("a")[0])


def test_what_a_dead_program_left_running_is_ended_before_its_restart(manage: Callable[..., Managed]) -> None:
    managed = manage("sleep 100 & echo pid $!; kill -9 $$")
    eventually(lambda: len(managed.pids("a")) == 2)
    orphan = managed.pids("a")[0]
    assert not psutil.pid_exists(orphan) or psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE


@pytest.mark.skipif(sys.platform != "linux", reason="the leash is the kernel's")
def test_kill_9_of_the_manager_leaves_no_program_behind(manage: Callable[..., Managed]) -> None:
    managed = manage("echo pid $$; exec sleep 100", "echo pid $$; exec sleep 100")
    eventually(lambda: managed.pids("a") and managed.pids("b"))
    children = managed.process.children(recursive=True)
    managed.process.kill()
    assert psutil.wait_procs(children, timeout=10)[1] == []


def test_output_that_nobody_reads_any_more_ends_the_run() -> None:
    manager = subprocess.Popen(
        [sys.executable, "-c", DRIVER, "while :; do echo line; sleep 0.05; done"], cwd=TREE, stdout=-1, stderr=-2
    )
    assert manager.stdout is not None
    manager.stdout.readline()
    manager.stdout.close()
    assert manager.wait(30) == 0
