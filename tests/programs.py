"""Starts ``manage.py`` in processes that needn't load the libraries anew, which is most of what each start costs.

A fork server forks them. Each is a real process with an environment, a process group and outputs of its own. What only
a start of Python itself takes note of, such as ``LD_PRELOAD``, gets one. So does each command somewhere in the tests
(tests/house), since what is tested must be what people start.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, TypeAlias

from scripts.leash import leashed
from tests.fork_server import FACT, LARGEST_REQUEST_BYTES

ROOT = Path(__file__).resolve().parents[1]
# Variables that are read when a program is started, not by it: of these and what else begins so.
READ_AT_THE_START = ("LANG", "LC_", "LD_", "MALLOC_", "PYTHON")
Program: TypeAlias = "ForkedProgram | subprocess.Popen[bytes]"


def manage(
    arguments: Sequence[str], environment: Mapping[str, str], output: IO[bytes], errors: IO[bytes] | None = None
) -> Program:
    """Start ``manage.py`` with these arguments, in a process group of its own and without an input.

    Args:
        arguments: The command and what it is given.
        environment: All of it.
        output: The file that its stdout goes to.
        errors: That of its stderr; None: ``output``, too.
    """
    if all(environment.get(name) == os.environ.get(name) for name in _read_at_the_start(environment)):
        return ForkedProgram(arguments, environment, output, errors or output)
    return subprocess.Popen(
        leashed([sys.executable, "manage.py", *arguments]),
        cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors or output, process_group=0,
    )  # fmt: skip


def run_manage(
    arguments: Sequence[str], environment: Mapping[str, str], timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run ``manage.py`` to its end.

    Raises:
        TimeoutExpired: It hadn't ended after so many seconds, and was killed.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        program = manage(arguments, environment, output, errors)
        try:
            status = program.wait(timeout)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
            raise
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode())
    return subprocess.CompletedProcess(["manage.py", *arguments], status, *said)


def _read_at_the_start(environment: Mapping[str, str]) -> set[str]:
    return {name for name in {*environment, *os.environ} if name.startswith(READ_AT_THE_START)}


class ForkedProgram:
    """What the fork server has forked, used like ``subprocess.Popen``."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], output: IO[bytes], errors: IO[bytes]
    ) -> None:
        self.args = ["manage.py", *arguments]
        self.returncode: int | None = None
        self._facts, told = os.pipe()
        try:
            request = json.dumps([self.args, {**environment}]).encode()
            _server().ask(request, [output.fileno(), errors.fileno(), told])
        finally:
            os.close(told)
        self.pid = self._next_fact()

    def __del__(self) -> None:
        os.close(self._facts)

    def poll(self) -> int | None:
        """Return the exit status, or less the signal that ended it, or None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return what ``poll()`` does at the end.

        Raises:
            TimeoutExpired: It still runs after so many seconds.
        """
        if self.returncode is None:
            if not select.select([self._facts], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = self._next_fact()
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _next_fact(self) -> int:
        fact = os.read(self._facts, FACT.size)
        if not fact:
            raise RuntimeError("the fork server or a guardian was killed")
        return int(FACT.unpack(fact)[0])


class _Server:
    def __init__(self) -> None:
        self._lock = Lock()
        self._socket, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for each in (self._socket, its):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LARGEST_REQUEST_BYTES)
        with its:
            self._process = subprocess.Popen(
                leashed([sys.executable, "-m", "tests.fork_server", str(its.fileno())]),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # not a terminal: what programs print to a file must be buffered as for one
                pass_fds=[its.fileno()],
                start_new_session=True,  # a Ctrl-C is for the tests, which then end their programs
            )

        atexit.register(self._end)

    def _end(self) -> None:
        self._socket.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
            return
        self._process.kill()
        self._process.wait()

    def ask(self, request: bytes, descriptors: list[int]) -> None:
        with self._lock:
            socket.send_fds(self._socket, [request], descriptors)


@cache
def _server() -> _Server:
    """Start the server of this process. It ends with it, or with the thread that needed it first: so, the main one."""
    return _Server()
