"""O10: as process 1 of a container, a worker heeds signals, takes leave of orphans, and ends with its status."""

import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

# Orphans: each child ends at once and leaves a grandchild, which ends as soon as it is an orphan.
PROGRAM = """
import os, signal, sys, time
from pathlib import Path
from jobqueue.worker.first_process import go_on_in_a_child_if_first

first = os.getpid()
go_on_in_a_child_if_first()
signal.signal(signal.SIGTERM, lambda *_: (print("told to stop", flush=True), os._exit(7)))
for _ in range(20):
    if (child := os.fork()) == 0:
        if os.fork() == 0:
            while os.getppid() != 1:
                time.sleep(0.001)
        os._exit(0)
    os.waitpid(child, 0)

def processes():
    return sum(path.name.isdecimal() for path in Path("/proc").iterdir())

while processes() > 2:
    time.sleep(0.01)
print("first" if first == 1 else "not first", os.getpid() != first, flush=True)
if "die" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
signal.pause()
"""
NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"]


@pytest.fixture
def container() -> Iterator[list[str]]:
    """What starts a program as process 1; skips where the system doesn't let us."""
    for command in (NAMESPACE, [part for part in NAMESPACE if part not in ("--user", "--map-root-user")]):
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            yield [*command, sys.executable, "-c", PROGRAM]
            return
    pytest.skip("no namespace of processes can be made here")


def test_it_takes_leave_of_orphans_and_passes_sigterm_and_the_status_on(container: list[str]) -> None:
    with subprocess.Popen(container, stdout=subprocess.PIPE, text=True) as unshare:
        assert unshare.stdout
        assert unshare.stdout.readline() == "first True\n"  # all orphans are gone, or it would still wait
        (first,) = psutil.Process(unshare.pid).children()
        first.terminate()
        assert unshare.stdout.readline() == "told to stop\n"
        assert unshare.wait(30) == 7


def test_a_death_by_a_signal_is_told_as_a_shell_does(container: list[str]) -> None:
    assert subprocess.run([*container, "die"], capture_output=True, check=False, timeout=60).returncode == 128 + 9


def test_elsewhere_nothing_happens() -> None:
    program = (
        "import os; from jobqueue.worker.first_process import go_on_in_a_child_if_first as go\n"
        "before = os.getpid(); go(); print(before == os.getpid())"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout == b"True\n"
