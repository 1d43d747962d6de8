"""The processes of a soak: workers, producers and somebody who decides; who dies is replaced, and all is told."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobqueue.worker.recycling import RECYCLED
from scripts.leash import leashed
from tests.testjobs import ledger

ROOT = Path(__file__).resolve().parents[3]
LOOK_SECONDS = 0.05
STOPS_WITHIN_SECONDS = 60.0


class Member:
    """One process."""

    def __init__(self, role: str, name: str, command: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
        self.role = role
        self.name = name
        self.command = command
        self.variables = variables
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                leashed([sys.executable, *command], signal.SIGKILL),
                cwd=ROOT, env=os.environ | variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def stop(self) -> None:
        self.signal(signal.SIGTERM)


class Fleet:
    """Starts members, and watches over them until ``end``."""

    def __init__(self, folder: Path, schemas: Sequence[str], chance: random.Random) -> None:
        self.folder = folder
        self.schemas = schemas
        self.members: list[Member] = []
        #: Workers that ended badly though nobody killed them, with their statuses.
        self.surprises: list[str] = []
        self._chance = chance
        self._numbers = itertools.count(1)
        self._retired: set[str] = set()
        self._lock = threading.Lock()
        self._watch = threading.Thread(target=self._watch_over_all, daemon=True)
        self._watch.start()

    def start_worker(self, variables: Mapping[str, str]) -> None:
        name = f"w{next(self._numbers)}"
        command = ["manage.py", "runworker", "--name", name, "--concurrency", str(self._chance.choice([1, 2, 4, 8]))]
        self._start("worker", name, command, variables)

    def start_producer(self, variables: Mapping[str, str]) -> None:
        self._start_module("producer", variables)

    def start_decider(self, variables: Mapping[str, str]) -> None:
        self._start_module("decider", variables)

    def _start_module(self, role: str, variables: Mapping[str, str]) -> None:
        seed = str(self._chance.getrandbits(32))
        command = ["-m", f"tests.faults.soak.{role}", seed, *self.schemas]
        self._start(role, f"{role} {next(self._numbers)}", command, variables)

    def _start(self, role: str, name: str, command: Sequence[str], variables: Mapping[str, str]) -> None:
        member = Member(role, name, command, variables, self.folder / f"{role}s.log")
        if role == "worker":
            ledger.write("worker", name=name)
        self.members.append(member)

    def those_of(self, role: str) -> list[Member]:
        return [member for member in list(self.members) if member.role == role and member.alive]

    def kill(self, member: Member) -> None:
        member.signal(signal.SIGKILL)

    def stop(self, *roles: str) -> None:
        """Let the members of these roles end in the orderly way, and replace nobody any more."""
        with self._lock:
            self._retired |= set(roles)
        leaving = [member for member in self.members if member.role in roles]
        for member in leaving:
            member.stop()
        self.await_end(leaving)

    def await_end(self, leaving: Sequence[Member]) -> None:
        """Wait until members are gone that were told to end; kill who doesn't, which is a surprise."""
        deadline = time.monotonic() + STOPS_WITHIN_SECONDS
        while any(member in self.members for member in leaving):
            if time.monotonic() > deadline:
                for member in [member for member in leaving if member.alive]:
                    self.surprises.append(f"{member.name} did not stop within {STOPS_WITHIN_SECONDS:.0f} s")
                    self.kill(member)
                deadline = float("inf")
            time.sleep(LOOK_SECONDS)

    def end(self) -> None:
        """Leave nothing behind."""
        with self._lock:
            self._retired |= {"worker", "producer", "decider"}
        for member in list(self.members):
            member.signal(signal.SIGKILL)
            member.process.wait()

    def _watch_over_all(self) -> None:
        while True:
            for member in list(self.members):
                if member.process.poll() is not None:
                    self._bury(member)
            time.sleep(LOOK_SECONDS)

    def _bury(self, member: Member) -> None:
        status = member.process.returncode
        if member.role == "worker":
            ledger.write("worker ended", name=member.name, died=status != 0)
        # A handler kills its worker now and then (the plan of its job says so), with SIGKILL, like us; and a worker
        # whose every thread was left behind by a job that was cancelled, and slept on, ends to be replaced.
        if status not in (0, -signal.SIGKILL, RECYCLED) and not (status == -signal.SIGTERM and not _has_begun(member)):
            self.surprises.append(f"{member.name} ended with status {status}")
        with self._lock:
            self.members.remove(member)
            if member.role not in self._retired:
                self._replace(member)

    def _replace(self, member: Member) -> None:
        starts: dict[str, Any] = {
            "worker": self.start_worker,
            "producer": self.start_producer,
            "decider": self.start_decider,
        }
        starts[member.role](member.variables)


def _has_begun(member: Member) -> bool:
    """Return whether it has run anything: before that Python may still have been starting, and know no signals."""
    runs = ledger.read(Path(os.environ[ledger.VARIABLE]), "start")
    return any(entry["worker"] == member.name for entry in runs)
