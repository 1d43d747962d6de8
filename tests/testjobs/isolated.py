"""Handlers with ``isolation="process"``: they work, crash, hang, and take more than they may."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from jobqueue.backoff import constant
from jobqueue.exceptions import DeadLetter
from jobqueue.handlers import JobContext, job_handler
from tests.testjobs import ledger
from tests.testjobs.limited import HANG, work_until_told
from tests.testjobs.misbehaviour import RAISE

AT_ONCE = constant(timedelta(0))
MIB = 2**20


def _note(event: str, context: JobContext, **facts: Any) -> None:
    ledger.write(
        event,
        job=context.job.pk,
        attempt=context.job.attempts,
        schema=ledger.current_schema(),
        parent=os.getppid(),
        **facts,
    )


@job_handler("test.isolated", backoff=AT_ONCE, isolation="process")
def isolated(context: JobContext) -> Any:
    """Use all that a handler may use, and tell how it went."""
    _note("start", context)
    with transaction.atomic():
        context.hold()
        context.queue.enqueue("test.noop", {}, idempotency_key=f"by {context.job.pk}")
    context.progress(40)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    return {"payload": context.payload, "held": context.still_held(), "backend": backend, "pid": os.getpid()}


@job_handler("test.isolated_sleep", backoff=AT_ONCE, isolation="process")
def sleep(context: JobContext) -> None:
    """Wait until the file ``until`` exists, beside a program of its own."""
    program = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    _note("start", context, program=program.pid)
    while not Path(context.payload["until"]).exists():
        time.sleep(0.02)
    program.terminate()
    program.wait()
    _note("end", context)


@job_handler("test.isolated_raise", backoff=AT_ONCE, isolation="process")
def raise_(context: JobContext) -> None:
    """Raise what ``kind`` names."""
    if context.payload["kind"] == "dead letter":
        raise DeadLetter("a retry is useless")
    raise RAISE[context.payload["kind"]]()


RETURN: dict[str, Callable[[], Any]] = {
    "a function": lambda: lambda: None,
    "a set": lambda: {1, 2},
    "too much": lambda: "x" * (2 * MIB),
    "much": lambda: "x" * (MIB - 100),
    "an open file": lambda: open(os.devnull),  # noqa: SIM115 - returned as it is
    "nothing": lambda: None,
}


@job_handler("test.isolated_return", backoff=AT_ONCE, isolation="process")
def return_(context: JobContext) -> Any:
    """Return what ``kind`` names."""
    return RETURN[context.payload["kind"]]()


def _fill_memory() -> None:
    held = []
    while True:
        held.append(bytearray(MIB))


def _segfault() -> None:
    ctypes.string_at(0)


def _abort() -> None:
    os.abort()


def _flood() -> None:
    """Write to whatever file is open, as a hostile parser might."""
    for descriptor in range(3, 30):
        try:
            while True:
                os.write(descriptor, b"x" * MIB)
        except OSError:
            pass


CRASH: dict[str, Callable[[], None]] = {
    "segfault": _segfault,
    "abort": _abort,
    "os._exit": lambda: os._exit(3),
    "exit as if well": lambda: os._exit(0),
    "sigkill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "flood": _flood,
}


@job_handler("test.isolated_crash", backoff=AT_ONCE, isolation="process")
def crash(context: JobContext) -> None:
    """End the process in the way that ``kind`` names."""
    _note("start", context)
    CRASH[context.payload["kind"]]()


@job_handler(
    "test.isolated_greedy",
    backoff=AT_ONCE,
    isolation="process",
    memory_limit_bytes=64 * MIB,
    cpu_limit=timedelta(seconds=1),
)
def greedy(context: JobContext) -> None:
    """Take more than allowed of what ``kind`` names."""
    if context.payload["kind"] == "memory":
        _fill_memory()
    while True:
        pass


@job_handler("test.isolated_hang", backoff=AT_ONCE, isolation="process", timeout=timedelta(seconds=2))
def hang(context: JobContext) -> None:
    """Hang as ``kind`` says."""
    _note("start", context)
    HANG[context.payload["kind"]]()


@job_handler("test.isolated_soft", backoff=AT_ONCE, isolation="process", soft_timeout=timedelta(seconds=0.3))
def soft(context: JobContext) -> Any:
    """Work until told to end; clean up, and end as ``then`` says."""
    return work_until_told(context)
