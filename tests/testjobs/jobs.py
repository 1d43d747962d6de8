"""Handlers by job type ``test.*``; each writes to the ledger when it starts and when it ends."""

import ctypes
import os
import signal
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection, transaction

from jobqueue.backoff import constant
from jobqueue.exceptions import DeadLetter
from jobqueue.handlers import JobContext, job_handler
from tests.testjobs import completing, ledger, limited, sudden_death, work
from tests.testjobs.misbehaviour import LEAVE, RAISE, RETURN

AT_ONCE = constant(timedelta(0))

sudden_death.arrange()

__all__ = ["completing", "limited", "work"]  # whose handlers are registered

if "JOBQUEUE_TEST_SCHEDULES" in os.environ:
    from tests.testjobs import scheduled  # noqa: F401 - declares one

match os.environ.get("JOBQUEUE_TEST_ISOLATED"):
    case "yes":  # else each worker would have a process more
        from tests.testjobs import isolated
    case "once":  # in the worker, and not in the process that forks for it
        assert sys.argv[0] != "-c", "broken on purpose"
        from tests.testjobs import isolated  # noqa: F401


def _start(context: JobContext) -> None:
    ledger.write(
        "start",
        job=context.job.pk,
        attempt=context.job.attempts,
        worker=context.job.locked_by,
        type=context.job.job_type,
        schema=ledger.current_schema(),
    )


def _end(context: JobContext) -> None:
    ledger.write("end", job=context.job.pk, attempt=context.job.attempts, schema=ledger.current_schema())


@job_handler("test.ok", backoff=AT_ONCE)
def ok(context: JobContext) -> Any:
    _start(context)
    _end(context)
    return {"payload": context.payload}


@job_handler("test.sleep", backoff=AT_ONCE)
def sleep(context: JobContext) -> None:
    """Sleep for ``seconds``, or until the file ``until`` exists; ``offline``: then end without the database."""
    _start(context)
    until = context.payload.get("until")
    deadline = time.monotonic() + context.payload.get("seconds", 60)
    while time.monotonic() < deadline and not (until and Path(until).exists()):
        threading.Event().wait(0.02)  # time.sleep() fails under the library that fakes clocks
    if context.payload.get("offline"):
        return
    ledger.write("held", job=context.job.pk, schema=ledger.current_schema(), held=context.still_held())
    _end(context)


@job_handler("test.long_transaction", backoff=AT_ONCE)
def long_transaction(context: JobContext) -> None:
    """Hold a transaction that has written to the job's own row, for ``seconds``."""
    _start(context)
    with transaction.atomic():
        context.progress(50)
        time.sleep(context.payload["seconds"])
    _end(context)


@job_handler("test.enqueue", backoff=AT_ONCE)
def enqueue(context: JobContext) -> None:
    """Enqueue a job in a transaction, and ``then`` commit or roll back."""
    _start(context)
    with transaction.atomic():
        context.queue.enqueue("test.ok", {}, idempotency_key=context.payload["key"])
        transaction.set_rollback(context.payload["then"] == "roll back")
    _end(context)


@job_handler("test.raise", backoff=AT_ONCE)
def raise_(context: JobContext) -> None:
    """Raise what ``kind`` names."""
    _start(context)
    raise RAISE[context.payload["kind"]]()


@job_handler("test.return", backoff=AT_ONCE)
def return_(context: JobContext) -> Any:
    """Return what ``kind`` names."""
    _start(context)
    return RETURN[context.payload["kind"]]()


@job_handler("test.thread", backoff=AT_ONCE)
def in_a_thread(context: JobContext) -> None:
    """Use the database in a thread of the handler's own, which closes nothing."""
    _start(context)
    thread = threading.Thread(target=ledger.current_schema)
    thread.start()
    thread.join()


@job_handler("test.dead_letter", backoff=AT_ONCE)
def dead_letter(context: JobContext) -> None:
    _start(context)
    raise DeadLetter("a retry is useless")


@job_handler("test.exit", backoff=AT_ONCE)
def exit_(context: JobContext) -> None:
    """End the process in the way that ``kind`` names."""
    _start(context)
    match context.payload["kind"]:
        case "sys.exit":
            sys.exit(3)
        case "os._exit":
            os._exit(3)
        case "sigkill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            ctypes.string_at(0)


@job_handler("test.leave", backoff=AT_ONCE)
def leave(context: JobContext) -> None:
    """Leave the connection in the state that ``kind`` names."""
    _start(context)
    LEAVE[context.payload["kind"]]()
    ledger.write("end", job=context.job.pk, attempt=context.job.attempts)


@job_handler("test.look", backoff=AT_ONCE)
def look(context: JobContext) -> dict[str, Any]:
    """Return what is left of a previous job on this thread's connection."""
    _start(context)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT current_setting('search_path'), current_user, current_setting('statement_timeout'),
                   current_setting('TimeZone'),
                   (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
                   (SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname = 'left_behind'),
                   (SELECT count(*) FROM pg_listening_channels()),
                   (SELECT count(*) FROM pg_cursors WHERE name = 'left_open')
            """
        )
        names = ("search_path", "user", "timeout", "timezone", "locks", "temporary", "channels", "cursors")
        found = dict(zip(names, cursor.fetchone(), strict=True))
    found["autocommit"] = transaction.get_autocommit()
    found["in_transaction"] = connection.in_atomic_block
    _end(context)
    return found


@job_handler("test.noop")
def noop(context: JobContext) -> None:
    """Does nothing, and leaves no entry in the ledger."""
