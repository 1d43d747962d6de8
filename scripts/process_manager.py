"""Keep a few programs running together: output prefixed by name, restarts with backoff, one clean end for all.

Each program leads a process group of its own, so that Ctrl-C reaches this manager alone and whatever a program started
ends with it; and each is on a leash, so that it ends even if the manager is killed. Why this is ours:
docs/adr/0002-process-manager.md.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

import psutil

COLOURS = (36, 33, 32, 35, 34)  # cyan, yellow, green, magenta, blue
FIRST_DELAY = 0.5
LONGEST_DELAY = 30.0
HEALTHY_SECONDS = 10.0  # a program that ran for so long starts the backoff anew
STRAGGLER_SECONDS = 2.0


def next_delay(delay: float, ran_for: float) -> float:
    """Seconds to wait before a restart, after waiting ``delay`` (0: never yet) and then running ``ran_for`` seconds."""
    if delay == 0 or ran_for >= HEALTHY_SECONDS:
        return FIRST_DELAY
    return min(delay * 2, LONGEST_DELAY)


@dataclass
class Program:
    name: str
    command: Sequence[str]  # leashed, where it should not outlive the manager
    env: dict[str, str] | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    grace_seconds: float = 15.0  # from the stop signal to SIGKILL
    cwd: str | None = None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)


class ProcessManager:
    def __init__(self, names: Sequence[str], out: BinaryIO = sys.stdout.buffer) -> None:
        """``names``: of all programs that will run, for the width and the colours of the prefixes."""
        self._names = list(names)
        self._out = out
        self._colour = out.isatty()
        self._running: dict[str, tuple[Program, asyncio.Task[None]]] = {}
        self.stop_requested = asyncio.Event()

    # --- What the caller does -------------------------------------------------

    def stop_on_signals(self) -> None:
        """Take SIGINT, SIGTERM and SIGHUP as the request to stop."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop_requested.set)

    def start(self, program: Program) -> None:
        """Run ``program`` until it is stopped, again and again if it ends by itself."""
        self._running[program.name] = (program, asyncio.create_task(self._keep_running(program)))

    async def run_once(self, program: Program) -> int:
        """Run ``program`` to its end and return its status; a stop request ends it early."""
        process, output = await self._spawn(program)
        stop = asyncio.create_task(self.stop_requested.wait())
        await asyncio.wait([stop, ended := asyncio.create_task(process.wait())], return_when="FIRST_COMPLETED")
        stop.cancel()
        if not ended.done():
            await self._end(process, program)
        await self._clear_up(process, output)
        return await ended

    async def stop(self, *names: str) -> None:
        """Stop these programs together and wait for their end."""
        stopped = [self._running.pop(name) for name in names if name in self._running]
        for program, _ in stopped:
            program.stopping.set()
        await asyncio.gather(*(task for _, task in stopped))

    def say(self, name: str, line: str) -> None:
        self._write(name, line.encode())

    # --- One program ----------------------------------------------------------

    async def _keep_running(self, program: Program) -> None:
        delay = 0.0
        while True:
            started = time.monotonic()
            process, output = await self._spawn(program)
            stop = asyncio.create_task(program.stopping.wait())
            ended = asyncio.create_task(process.wait())
            await asyncio.wait([stop, ended], return_when="FIRST_COMPLETED")
            if stop.done():
                await self._end(process, program)
            await self._clear_up(process, output)
            stop.cancel()
            if program.stopping.is_set():
                return
            delay = next_delay(delay, time.monotonic() - started)
            self.say(program.name, f"{_ending(await ended)}; starting again in {delay:g} s")
            with suppress(TimeoutError):
                await asyncio.wait_for(program.stopping.wait(), delay)
                return

    async def _spawn(self, program: Program) -> tuple[asyncio.subprocess.Process, asyncio.Task[None]]:
        # A pipe of our own: with asyncio's, wait() of Python 3.11 waits for whoever else holds the output open.
        read_end, write_end = os.pipe()
        output = asyncio.create_task(self._copy_output(program.name, read_end))
        try:
            process = await asyncio.create_subprocess_exec(
                *program.command,
                env=program.env,
                cwd=program.cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        return process, output

    async def _end(self, process: asyncio.subprocess.Process, program: Program) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(program.stop_signal)
        try:
            await asyncio.wait_for(process.wait(), program.grace_seconds)
        except TimeoutError:
            self.say(program.name, f"did not stop within {program.grace_seconds:g} s; killed")
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _clear_up(self, process: asyncio.subprocess.Process, output: asyncio.Task[None]) -> None:
        """End what the program left behind in its process group: it may hold its port or its output open."""
        if _signal_group(process.pid, signal.SIGTERM):
            deadline = time.monotonic() + STRAGGLER_SECONDS
            while _lives(process.pid) and time.monotonic() < deadline:
                await asyncio.sleep(0.05)
            _signal_group(process.pid, signal.SIGKILL)
        with suppress(TimeoutError):
            await asyncio.wait_for(output, STRAGGLER_SECONDS)

    # --- Output ---------------------------------------------------------------

    async def _copy_output(self, name: str, read_end: int) -> None:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
        )
        try:
            rest = b""
            while chunk := await reader.read(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._write(name, line)
            if rest:
                self._write(name, rest)
        finally:
            transport.close()

    def _write(self, name: str, line: bytes) -> None:
        prefix = f"{name:<{max(map(len, self._names))}} | "
        if self._colour:
            prefix = f"\x1b[{COLOURS[self._names.index(name) % len(COLOURS)]}m{prefix}\x1b[0m"
        try:
            self._out.write(prefix.encode() + line.rstrip(b"\r") + b"\n")
            self._out.flush()
        except BrokenPipeError:  # nobody reads any more; what is still buffered must not fail at the end, either
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._out.fileno())
            os.close(nowhere)
            self.stop_requested.set()


def _lives(leader: int) -> bool:
    """Say whether the group has a process that is not a zombie, which waits for init alone."""
    for process in psutil.process_iter(["status"]):
        with suppress(ProcessLookupError, PermissionError):
            if process.info["status"] != psutil.STATUS_ZOMBIE and os.getpgid(process.pid) == leader:
                return True
    return False


def _signal_group(leader: int, number: signal.Signals) -> bool:
    """Signal every process of the group; False if there is none."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _ending(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
