"""A copy of this tree to work in, as a fresh clone would be, and a system that runs in one."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

from scripts.leash import leashed
from tests.stopwatch import Stopwatch

TREE = Path(__file__).resolve().parents[2]
# Compiled modules are taken along, for the time it takes to compile all again, but none that is being written just now.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "var", "*.pyc.*", ".mypy_cache", ".*_cache", ".hypothesis")
T = TypeVar("T")


def copy_tree(target: Path) -> Path:
    shutil.copytree(TREE, target, ignore=LEFT_OUT)
    return target


def clean_environment(**more: str) -> dict[str, str]:
    """The environment less what steers this test run or a make above it."""
    steering = re.compile(r"MAKE|MFLAGS|DATABASE_URL|DJANGO_|DMS_|AWS_|PYTEST|PORT$")
    return {name: value for name, value in os.environ.items() if not steering.match(name)} | more


def make(clone: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", f"VENV={sys.prefix}", *arguments],
        cwd=clone, env=clean_environment(), capture_output=True, text=True, timeout=100, **more,
    )  # fmt: skip


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eventually(condition: Callable[[], T], seconds: float = 20) -> T:
    """Wait until ``condition()`` is true and return what it returned."""
    with Stopwatch() as watch:
        while not (result := condition()):
            assert watch.seconds < seconds, f"not within {seconds} s: {condition}"
            time.sleep(0.02)
    return result


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str
    seconds: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def get(
    port: int, path: str, host: str = "localhost", timeout: float = 20, method: str = "GET", **headers: str
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    with Stopwatch() as watch:
        try:
            connection.request(method, path, headers={"Host": f"{host}:{port}"} | headers)
            response = connection.getresponse()
            body = response.read().decode(errors="replace")
        finally:
            connection.close()
        seconds = watch.seconds
    return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, body, seconds)


@dataclass
class Run:
    """A ``make run`` in a clone."""

    clone: Path
    port: int = field(default_factory=free_port)

    def __post_init__(self) -> None:
        self.log = self.clone / "run.log"
        self.start()

    def start(self) -> None:
        with self.log.open("wb") as log:
            self.make = psutil.Popen(
                leashed(["make", f"VENV={sys.prefix}", "run", f"PORT={self.port}"]),
                cwd=self.clone, env=clean_environment(), stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self.log.read_text()

    def wait_for(self, pattern: str, seconds: float = 60) -> re.Match[str]:
        def found() -> re.Match[str] | None:
            assert self.make.poll() is None, self.output
            return re.search(pattern, self.output, re.MULTILINE)

        return eventually(found, seconds)

    def processes(self) -> list[psutil.Process]:
        return [self.make, *self.make.children(recursive=True)]

    def program(self, words: str) -> psutil.Process:
        """The one process that runs this program: the first whose command line has these words."""
        found = [p for p in self.make.children(recursive=True) if words in " ".join(p.cmdline())]
        assert found, f"no process runs {words!r}"
        return found[0]

    def stop(self, number: signal.Signals = signal.SIGTERM) -> list[psutil.Process]:
        """Stop it and return the processes that outlived it."""
        processes = self.processes()
        if number == signal.SIGINT:
            os.killpg(self.make.pid, number)  # as a terminal does
        else:
            self.make.send_signal(number)
        _, alive = psutil.wait_procs(processes, timeout=30)
        return alive
