"""A contender in a database of its own, with its workers and what they marked: where one measurement takes place."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts.bench import machine, marks
from scripts.bench.contender import Contender, Setting
from scripts.bench.errors import NotMeasured
from scripts.bench.marks import Mark
from scripts.bench.server import Database
from scripts.leash import leashed

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 30
_OPERATION_SECONDS = 600
_LOOK_SECONDS = 0.01
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Entrant:
    """A contender that can run here."""

    contender: Contender
    python: Path
    version: str

    @property
    def name(self) -> str:
        return self.contender.name


@dataclass
class Stage:
    """See the module. Made by ``open_stage``, which ends the workers."""

    entrant: Entrant
    database: Database
    folder: Path
    variables: Mapping[str, str]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def marks_file(self) -> Path:
        return self.folder / "marks"

    def call(self, operation: str, **arguments: Any) -> Any:
        """Let a child process do something, and return its answer."""
        command = self.entrant.contender.command(self.entrant.python, operation, arguments)
        try:
            done = subprocess.run(
                leashed(command, signal.SIGKILL), cwd=ROOT, env=self._environment(), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=_OPERATION_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise NotMeasured(f"{operation} took more than {_OPERATION_SECONDS} s") from None
        if done.returncode != 0:
            raise NotMeasured(f"{operation} failed: {_last_line(done.stderr)}")
        return json.loads(done.stdout.splitlines()[-1])

    def start_worker(self, setting: Setting, *, processes_are_workers: bool = False) -> subprocess.Popen[bytes]:
        """Start a worker.

        Args:
            setting: Of the contender.
            processes_are_workers: Tell its processes apart in the marks; else they all count as one worker.
        """
        environment = self._environment()
        if not processes_are_workers:
            environment[marks.WORKER] = str(len(self.workers) + 1)
        command = leashed(self.entrant.contender.worker_command(self.entrant.python, setting), signal.SIGKILL)
        with self.log.open("ab") as log:
            worker = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.workers.append(worker)
        return worker

    @property
    def log(self) -> Path:
        """What the workers print."""
        return self.folder / "log"

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        """End a worker with all its processes, as a crash would."""
        machine.end_tree(worker.pid)
        worker.wait()

    def marks(self) -> list[Mark]:
        """Return the marks so far, earliest first."""
        return marks.read(self.marks_file)

    def wait_for_marks(self, wanted: int, seconds: float) -> bool:
        """Wait until so many handlers have started; return whether they have.

        Raises:
            NotMeasured: All workers have ended before.
        """
        return self.wait_until(lambda: marks.count(self.marks_file) >= wanted, seconds)

    def wait_until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition, as long as a worker lives; return whether it came true."""
        give_up_at = time.monotonic() + seconds
        while not condition():
            if self.workers and all(worker.poll() is not None for worker in self.workers):
                raise NotMeasured(f"the worker ended: {_last_line(self.log.read_text(errors='replace'))}")
            if time.monotonic() > give_up_at:
                return False
            time.sleep(_LOOK_SECONDS)
        return True

    def prove_ready(self) -> None:
        """Let a worker do one job, so that it is warm and idle."""
        known = marks.count(self.marks_file)
        self.call("fill", jobs=1, per_call=1)
        if not self.wait_for_marks(known + 1, READY_SECONDS):
            raise NotMeasured(f"the worker did nothing for {READY_SECONDS} s")

    def unfinished(self) -> int:
        """Return how many due jobs are not on record as finished."""
        return int(self.database.value(self.entrant.contender.unfinished))

    def _environment(self) -> dict[str, str]:
        usual = {**self.entrant.contender.variables, **self.database.environment, marks.FILE: str(self.marks_file)}
        return {**os.environ, **usual, **self.variables}


@contextmanager
def open_stage(
    entrant: Entrant, database: Database, folder: Path, variables: Mapping[str, str] | None = None
) -> Iterator[Stage]:
    """Give a stage for the length of the block.

    Args:
        entrant: Who.
        database: Where.
        folder: For its files; what an earlier stage of the same name left is overwritten.
        variables: Of the environment of its processes, beside the usual ones.
    """
    own = folder / f"stage-{next(_numbers)}"
    own.mkdir(parents=True)
    stage = Stage(entrant, database, own, variables or {})
    try:
        yield stage
    finally:
        for worker in stage.workers:
            stage.kill(worker)
        shutil.rmtree(own)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "it said nothing"
