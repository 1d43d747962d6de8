"""Handlers that hang, each in a way of its own, and handlers that are told to end."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from jobqueue.backoff import constant
from jobqueue.exceptions import Cancelled, SoftTimeLimit
from jobqueue.handlers import JobContext, job_handler
from tests.testjobs import ledger

AT_ONCE = constant(timedelta(0))
SECOND = timedelta(seconds=1)
#: What ``test.hang`` with kind "lock" waits for; whoever wants it to wait holds it.
ADVISORY_LOCK = 424242


def note(event: str, context: JobContext) -> None:
    """Write to the ledger."""
    ledger.write(event, job=context.job.pk, attempt=context.job.attempts, schema=ledger.current_schema())


def _read_forever() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.recv(1)


def _wait_for_a_program() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]) as program:
        ledger.write("program", program=program.pid)


def _wait_for_a_lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])


def _swallow() -> None:
    while True:
        with contextlib.suppress(BaseException):
            time.sleep(0.05)


HANG: dict[str, Callable[[], None]] = {
    "sleep": lambda: time.sleep(600),
    "socket": _read_forever,
    "program": _wait_for_a_program,
    "lock": _wait_for_a_lock,
    "swallow": _swallow,
}


@job_handler("test.hang", backoff=AT_ONCE, timeout=SECOND)
def hang(context: JobContext) -> None:
    """Hang as ``kind`` says."""
    note("start", context)
    HANG[context.payload["kind"]]()


@job_handler("test.hang_in_transaction", backoff=AT_ONCE, timeout=SECOND)
def hang_in_transaction(context: JobContext) -> None:
    """Hold the job's own row, and hang; then write, when the time is over."""
    note("start", context)
    with transaction.atomic():
        context.hold()
        context.queue.enqueue("test.noop", {}, idempotency_key=f"by {context.job.pk}")
        time.sleep(context.payload["seconds"])
    note("end", context)


@job_handler("test.default_limit", backoff=AT_ONCE)
def default_limit(context: JobContext) -> None:
    """Hang, with no limit of its own."""
    note("start", context)
    time.sleep(600)


@job_handler("test.no_limit", backoff=AT_ONCE, timeout=timedelta.max)
def no_limit(context: JobContext) -> None:
    """Take ``seconds``, whatever the default limit is."""
    time.sleep(context.payload["seconds"])


@job_handler("test.soft", backoff=AT_ONCE, soft_timeout=timedelta(seconds=0.3))
def soft(context: JobContext) -> Any:
    """Work until told to end; clean up, and end as ``then`` says."""
    return work_until_told(context)


def work_until_told(context: JobContext) -> Any:
    note("start", context)
    try:
        while True:
            with contextlib.suppress(Exception):  # as handlers do that go on with the next item
                time.sleep(0.01)
    except SoftTimeLimit:
        note("cleaned", context)
        if context.payload["then"] == "return":
            return "as far as it came"
        raise


@job_handler("test.until_cancelled", backoff=AT_ONCE)
def until_cancelled(context: JobContext) -> None:
    """Work until cancelled; ``stubborn``: take no notice, until the file ``until`` exists."""
    note("start", context)
    until = Path(context.payload.get("until", "/dev/null/never"))
    waiting = True
    while waiting:
        try:  # around the look as well: the exception comes wherever the thread just is
            while waiting := not until.exists():
                time.sleep(0.01)
        except Cancelled:
            ledger.write("cancelled", job=context.job.pk, schema=ledger.current_schema(), held=context.still_held())
            if not context.payload.get("stubborn"):
                raise
    note("end", context)


@job_handler("test.program", backoff=AT_ONCE)
def program(context: JobContext) -> None:
    """Wait for a program that takes long."""
    with subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]) as started:
        ledger.write("start", job=context.job.pk, schema=ledger.current_schema(), program=started.pid)


_hoard: list[bytes] = []


@job_handler("test.hoard", backoff=AT_ONCE)
def hoard(context: JobContext) -> None:
    """Take memory, and never give it back."""
    _hoard.append(b"x" * context.payload["bytes"])
