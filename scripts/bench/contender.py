"""What can be measured: a queue, and how the harness puts jobs into it and has them worked off.

The harness reads the facts at the top of the class. The operations below run in a child process (``child``), in the
interpreter that has the contender's packages; so nothing here imports more than the standard library, and a contender
imports its packages inside its methods.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

Setting = Mapping[str, Any]


class Producer:
    """Puts no-op jobs into a queue, by the contender's public calls."""

    def one(self, number: int) -> None:
        """Enqueue one job in a transaction of its own."""
        raise NotImplementedError

    def many(self, numbers: Sequence[int]) -> None:
        """Enqueue all of them by one call, if the contender has one."""
        raise NotImplementedError


class Contender:
    """A queue that takes part."""

    name: ClassVar[str]
    #: The distribution whose version stands in the report; None: it comes with this project.
    package: ClassVar[str | None] = None
    #: Whether it is one of those that a Django project would choose.
    for_django: ClassVar[bool] = False
    #: Whether its producer has a call for many jobs.
    has_bulk: ClassVar[bool] = True
    #: How many jobs wait when a drain begins: what a slow one can't work off needn't be enqueued.
    waiting: ClassVar[int] = 1_000_000
    #: SQL that counts the due jobs which are not on record as finished.
    unfinished: ClassVar[str]
    #: SQL that says whether a started job is not on record as finished. Asked again and again when all have started.
    busy: ClassVar[str | None] = None
    #: Environment variables of its processes.
    variables: ClassVar[Mapping[str, str]] = {}
    #: How a worker runs as it comes, and as it is fastest at working off many jobs.
    stock: ClassVar[Setting] = {}
    best: ClassVar[Setting] = {}

    def prepare(self) -> None:
        """Make the tables in an empty database."""
        raise NotImplementedError

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        """Connect as a client that enqueues."""
        raise NotImplementedError
        yield

    def work(self, **setting: Any) -> None:
        """Be a worker until killed."""
        raise NotImplementedError

    def worker_command(self, python: Path, setting: Setting) -> list[str]:
        """Return the command line of a worker."""
        return self.command(python, "work", setting)

    def command(self, python: Path, operation: str, arguments: Setting) -> list[str]:
        """Return the command line that runs one of this class's methods in a child process."""
        kind = type(self)
        return [
            str(python), "-m", "scripts.bench.child", f"{kind.__module__}:{kind.__qualname__}",
            operation, json.dumps(dict(arguments)),
        ]  # fmt: skip

    # What the harness lets a child process do

    def fill(self, jobs: int, per_call: int) -> None:
        """Let so many jobs wait, enqueued by calls for so many; one at a time where there is no call for more."""
        with self.producer() as producer:
            if per_call == 1 or not self.has_bulk:
                for number in range(jobs):
                    producer.one(number)
                return
            for first in range(0, jobs, per_call):
                producer.many(range(first, min(first + per_call, jobs)))

    def one_by_one(self, seconds: float) -> float:
        """Enqueue for so long, each job in a transaction of its own; returns jobs per second."""
        with self.producer() as producer:
            for number in range(10):  # connection, caches, prepared statements
                producer.one(number)
            jobs, started = 0, time.monotonic()
            while (taken := time.monotonic() - started) < seconds:
                producer.one(jobs)
                jobs += 1
            return jobs / taken

    def in_bulk(self, jobs: int, calls: int) -> float:
        """Enqueue so many jobs by each call; returns jobs per second of the fastest call."""
        with self.producer() as producer:
            producer.many(range(10))
            best = 0.0
            for _ in range(calls):
                started = time.monotonic()
                producer.many(range(jobs))
                best = max(best, jobs / (time.monotonic() - started))
            return best

    def paced(self, first: int, jobs: int, pause_seconds: float) -> list[tuple[int, int]]:
        """Enqueue at a steady pace; returns each job's number and when its commit had returned (CLOCK_MONOTONIC ns)."""
        enqueued = []
        with self.producer() as producer:
            producer.one(first - 1)  # connection and caches
            at = time.monotonic() + 10 * pause_seconds
            for number in range(first, first + jobs):
                time.sleep(max(0.0, at - time.monotonic()))
                producer.one(number)
                enqueued.append((number, time.monotonic_ns()))
                at += pause_seconds
        return enqueued
