"""Threads with database connections of their own, in the tenant of the test."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any, TypeVar

from django.db import connection, connections

T = TypeVar("T")


def together(count: int, work: Callable[[int], T]) -> list[T]:
    """Run ``work(0)`` to ``work(count - 1)`` at the same moment, each in a thread; return their answers in order."""
    barrier = threading.Barrier(count)

    def run(number: int) -> T:
        connection.ensure_connection()
        barrier.wait(20)
        return work(number)

    with threads(count) as start:
        return [future.result(30) for future in [start(run, number) for number in range(count)]]


@contextmanager
def threads(count: int) -> Iterator[Callable[..., "Future[Any]"]]:
    """Give a function that starts another in a thread, and end the threads and their connections afterwards."""
    with ThreadPoolExecutor(count) as pool:
        yield lambda work, *arguments: pool.submit(copy_context().run, _with_own_connection, work, *arguments)


def _with_own_connection(work: Callable[..., T], *arguments: Any) -> T:
    try:
        return work(*arguments)
    finally:
        connections.close_all()


def waits_for_a_lock(pid: int) -> bool:
    """Return whether the backend with this id waits for another one's lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [pid])
        return bool(cursor.fetchone()[0])


def backend_pid() -> int:
    """Return the id of this thread's backend."""
    connection.ensure_connection()
    return int(connection.connection.info.backend_pid)
