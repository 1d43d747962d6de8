"""Tasks of Django's task API that return, raise, wait and ask for their context."""

import asyncio
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection

from jobqueue.backoff import constant
from jobqueue.exceptions import DeadLetter
from jobqueue.models import ProcessingJob

if sys.version_info >= (3, 12):  # and so Django 6
    from django.tasks import task
else:
    from django_tasks import task

if "JOBQUEUE_TEST_HOSTILE" in os.environ:  # else each worker would have a process more
    from tests.testjobs import hostile_tasks  # noqa: F401

AT_ONCE = constant(timedelta(0))


@task
def add(one: int, other: int = 0) -> int:
    return one + other


@task()
async def add_async(one: int, other: int = 0) -> int:
    """Count a job by the way, as a sign that the ORM works and sees what the caller's thread sees."""
    await asyncio.sleep(0)
    assert await ProcessingJob.objects.acount() > 0
    return one + other


@task(priority=7, queue_name="slow", job_type="test.named", max_attempts=2, backoff=AT_ONCE)
def named() -> str:
    return "named"


@task(takes_context=True, backoff=AT_ONCE)
def tell_context(context: Any, key: str) -> dict[str, Any]:
    context.hold()
    context.progress(40)
    result = context.task_result
    return {
        "key": key,
        "id": result.id,
        "status": result.status,
        "attempt": context.attempt,
        "attempts": result.attempts,
        "held": context.still_held(),
        "backend": result.backend,
    }


@task(backoff=AT_ONCE, max_attempts=2)
def fail(message: str, kind: str = "ValueError") -> None:
    if kind == "ValueError":
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError(message) from error
    if kind == "SystemExit":
        raise SystemExit(message)
    raise DeadLetter(message)


RETURN = {
    "a function": lambda: fail,
    "a set": lambda: {1},
    "NaN": lambda: float("nan"),
    "NUL": lambda: "a\0b",
    "a tuple": lambda: (1, [b"text"]),
}


@task(max_attempts=3)
def return_(kind: str) -> Any:
    return RETURN[kind]()


@task
def break_the_transaction() -> None:
    """Leave the transaction that a test runs in aborted."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1/0")


@task
def again() -> None:
    """Enqueue another of its kind."""
    again.enqueue()


@task(soft_timeout=timedelta(seconds=0.2))
async def wait_async(then: str) -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        if then == "return":
            return "cleaned up"
        raise
    return "in time"


@task(backoff=AT_ONCE, max_attempts=1, timeout=timedelta(minutes=1))
def wait(until: str) -> None:
    while not Path(until).exists():
        pass


@task(isolation="process", timeout=timedelta(minutes=1))
def pid() -> int:
    return os.getpid()
