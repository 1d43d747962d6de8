"""The ways in which handlers go wrong: what they raise, and what they leave on the connection."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from django.db import IntegrityError, connection, transaction

from jobqueue.models import ProcessingJob


class _BadText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class _Base(BaseException):
    pass


def _long_chain() -> Exception:
    error = Exception("the last of many")
    tail: BaseException = error
    for number in range(10_000):
        tail.__cause__ = Exception(number)
        tail = tail.__cause__
    return error


RAISE: dict[str, Callable[[], BaseException]] = {
    "value": lambda: ValueError("boom"),
    "nul": lambda: ValueError("before\0after"),
    "surrogate": lambda: ValueError("name \udcff"),
    "huge": lambda: ValueError("x" * 50_000_000),
    "one_line": lambda: ValueError("y" * 2_000_000),
    "chain": _long_chain,
    "bad_text": _BadText,
    "cancelled": asyncio.CancelledError,
    "generator_exit": GeneratorExit,
    "keyboard": KeyboardInterrupt,
    "base": _Base,
    "memory": MemoryError,
    "recursion": RecursionError,
}


def _circle() -> list[object]:
    circle: list[object] = []
    circle.append(circle)
    return circle


RETURN: dict[str, Callable[[], object]] = {
    "nul": lambda: {"text": "before\0after"},
    "surrogate": lambda: {"name": "\udcff"},
    "nan": lambda: float("nan"),
    "infinity": lambda: [float("inf")],
    "set": lambda: {1, 2},
    "model": lambda: ProcessingJob(job_type="x"),
    "huge": lambda: "x" * 20_000_000,
    "circle": _circle,
}


def _execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _swallow() -> None:
    # The transaction is aborted when suppress() goes on, and atomic() rolls it back on its way out.
    with transaction.atomic(), contextlib.suppress(IntegrityError):
        ProcessingJob.objects.create(job_type="bad", max_attempts=1, priority=1000)


def _no_autocommit() -> None:
    transaction.set_autocommit(False)
    _execute("SELECT 1")


def _row_lock() -> None:
    transaction.set_autocommit(False)
    _execute("SELECT id FROM processing_jobs FOR UPDATE")


def _enter_atomic() -> None:
    transaction.atomic().__enter__()
    _execute("SELECT 1")


def _raw_transaction() -> None:
    connection.ensure_connection()
    raw: Any = connection.connection
    raw.execute("BEGIN")


def _open_cursor() -> None:
    _execute("DECLARE left_open CURSOR WITH HOLD FOR SELECT 1")


LEAVE: dict[str, Callable[[], None]] = {
    "swallowed_error": _swallow,
    "no_autocommit": _no_autocommit,
    "row_lock": _row_lock,
    "entered_atomic": _enter_atomic,
    "raw_transaction": _raw_transaction,
    "open_cursor": _open_cursor,
    "search_path": lambda: _execute("SET search_path = pg_catalog"),
    "role": lambda: _execute("SET ROLE pg_monitor"),
    "timeout": lambda: _execute("SET statement_timeout = '1ms'"),
    "timezone": lambda: _execute("SET TIME ZONE 'Asia/Kathmandu'"),
    "listen": lambda: _execute("LISTEN left_behind"),
    "advisory_lock": lambda: _execute("SELECT pg_advisory_lock(42)"),
    "temporary_table": lambda: _execute("CREATE TEMPORARY TABLE left_behind (id int)"),
    "closed": lambda: connection.close(),
    "raw_closed": lambda: connection.connection.close(),
}
