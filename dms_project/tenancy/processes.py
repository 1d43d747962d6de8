"""Doing the same for many tenants in several processes at once."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar, cast

from django.db import connections

R = TypeVar("R")

# What a copy has of its parent's connections: nobody may use them there, nor end them, which would end the parent's.
# As long as any process has one, its session lives, and with it the lock on the set of schemas.
_of_the_parent: list[Any] = []


class Processes(Generic[R]):
    """Copies of this process that share out a list of names.

    Not threads, which would share what a migration changes while it runs, and one processor. A copy ends when its
    parent has, after the name that it is at.

    Args:
        count: How many names are worked on at once.
        work: Called with each name, in a copy; what it returns must be picklable.
    """

    def __init__(self, count: int, work: Callable[[str], R]) -> None:
        self._context = multiprocessing.get_context("fork")
        self._count = count
        self._work = work
        self._copies: dict[Connection, BaseProcess] = {}

    def run(self, names: deque[str]) -> Iterator[tuple[str, R | None]]:
        """Yield each name with what became of it, as they are done; None if the process died of it.

        The caller may empty ``names`` meanwhile: what was begun is finished then, and nothing else begun.
        """
        busy: dict[Connection, str] = {}
        try:
            while names or busy:
                while names and len(busy) < self._count:
                    pipe = next((pipe for pipe in self._copies if pipe not in busy), None) or self._start()
                    busy[pipe] = names.popleft()
                    pipe.send(busy[pipe])
                for pipe in cast(list[Connection], wait(list(busy))):
                    name = busy.pop(pipe)
                    try:
                        result: R | None = pipe.recv()
                    except (EOFError, ConnectionResetError):
                        result = None
                        self._copies.pop(pipe).join()
                    yield name, result
        finally:
            for pipe in self._copies:
                pipe.close()
            for process in self._copies.values():
                process.join()

    def _start(self) -> Connection:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=self._serve, args=(theirs, [ours, *self._copies]))
        process.start()
        theirs.close()
        self._copies[ours] = process
        return ours

    def _serve(self, pipe: Connection, of_the_parent: list[Connection]) -> None:
        for other in of_the_parent:
            other.close()  # else it would never be seen that the parent is gone
        for connection in connections.all(initialized_only=True):
            _of_the_parent.append(connection.connection)
            connection.connection = None
        try:
            while True:
                result = self._work(pipe.recv())
                with suppress(ConnectionError):  # then the next recv() finds nobody
                    pipe.send(result)
        except (EOFError, ConnectionError, KeyboardInterrupt):
            connections.close_all()
