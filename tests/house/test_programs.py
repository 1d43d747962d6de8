"""Programs from the tests' fork server are what a start of ``manage.py`` would be."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from scripts.leash import leashed
from tests.house.clone import eventually
from tests.programs import ROOT, ForkedProgram, manage, run_manage

PLAIN = {"DJANGO_SETTINGS_MODULE": "tests.plain_project.settings", "DATABASE_URL": "postgresql:///none"}
ABOUT_ITSELF = """
import json, locale, os, random, signal, sys, threading
said = {
    "argv": sys.argv, "orig_argv": sys.orig_argv[1:], "path": sys.path,
    "environment": dict(os.environ), "folder": os.getcwd(), "umask": os.umask(0o22), "nice": os.nice(0),
    "leads its group": os.getpgrp() == os.getpid(), "threads": threading.active_count(),
    "stdin": os.readlink("/proc/self/fd/0"), "open files": sorted(os.listdir("/proc/self/fd")),
    "signals": {number: str(signal.getsignal(number)) for number in signal.valid_signals()},
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "buffered": [sys.stdout.line_buffering, sys.stdout.write_through, sys.stderr.line_buffering],
    "encodings": [sys.stdout.encoding, sys.stdout.errors, sys.stderr.errors, locale.getencoding()],
    "flags": str(sys.flags), "recursion": sys.getrecursionlimit(),
}
print(json.dumps(said))
print("to the errors", file=sys.stderr)
"""
RANDOM = "import random, uuid; print(random.random(), uuid.uuid4())"
OWNER = """
import os, sys, time
from tests.programs import manage
code = "print('up', flush=True); import time; time.sleep(600)"
program = manage(["shell", "--no-imports", "-c", code], os.environ, open(sys.argv[1], "wb"))
print(program.pid, flush=True)
time.sleep(600)
"""


def shell(code: str) -> list[str]:
    return ["shell", "--no-imports", "-v0", "-c", code]


@pytest.fixture
def environment() -> dict[str, str]:
    return os.environ | PLAIN | {"OF_THE_TEST": "given"}


def test_a_program_sees_all_that_a_started_one_sees(environment: dict[str, str]) -> None:
    started = subprocess.run(
        leashed([sys.executable, "manage.py", *shell(ABOUT_ITSELF)]), cwd=ROOT, env=environment,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, process_group=0, timeout=60,
    )  # fmt: skip
    forked = run_manage(shell(ABOUT_ITSELF), environment)

    assert (forked.returncode, forked.stderr) == (started.returncode, started.stderr)
    of_the_started, of_the_forked = (json.loads(each.stdout.splitlines()[-1]) for each in (started, forked))
    assert of_the_forked == of_the_started
    assert of_the_forked["environment"]["OF_THE_TEST"] == "given"
    assert of_the_forked["leads its group"]


def test_no_two_programs_have_the_same_chance(environment: dict[str, str]) -> None:
    first, second = (run_manage(shell(RANDOM), environment).stdout.split() for _ in range(2))
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("import sys; sys.exit(7)", 7),
        ("raise ZeroDivisionError", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("import threading, time; threading.Thread(target=lambda: (time.sleep(0.1), print('last'))).start()", 0),
    ],
)
def test_its_end_is_told(code: str, status: int, environment: dict[str, str]) -> None:
    ended = run_manage(shell(code), environment)
    assert ended.returncode == status
    assert ("ZeroDivisionError" in ended.stderr) == (status == 1)
    assert ended.stdout.rstrip().endswith("last") == ("Thread" in code)


@pytest.fixture
def endless(environment: dict[str, str], tmp_path: Path) -> Iterator[ForkedProgram]:
    with (tmp_path / "output").open("wb") as output:
        program = manage(shell("import time; time.sleep(600)"), environment, output)
    assert isinstance(program, ForkedProgram)
    yield program
    program.kill()
    program.wait(10)


def test_its_group_can_be_signalled_at_once(endless: ForkedProgram) -> None:
    os.killpg(endless.pid, signal.SIGTERM)
    assert endless.wait(30) == -signal.SIGTERM
    assert endless.poll() == -signal.SIGTERM
    endless.kill()  # which does nothing any more


def test_what_runs_has_no_status(endless: ForkedProgram) -> None:
    assert endless.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        endless.wait(0.01)


def test_whoever_started_it_takes_it_along_when_killed(environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    owner = subprocess.Popen(
        leashed([sys.executable, "-c", OWNER, str(log)]), cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    with owner:
        assert owner.stdout
        program = psutil.Process(int(owner.stdout.readline()))
        eventually(lambda: "up" in log.read_text(), 60)
        owner.kill()
    program.wait(30)


def test_what_python_reads_at_its_start_gets_a_start(environment: dict[str, str]) -> None:
    asked = run_manage(shell("import sys; print(sys.flags.dev_mode)"), environment | {"PYTHONDEVMODE": "1"})
    assert asked.stdout.split()[-1] == "True"
