"""Tasks that leave what they can, and tasks that look: in a thread, in a process, on an event loop."""

import sys
from typing import Any

from asgiref.sync import sync_to_async

from dms_project.tenancy import current
from tests.testjobs import hostile
from tests.testjobs.hostile import LEAVE

if sys.version_info >= (3, 12):  # and so Django 6
    from django.tasks import task
else:
    from django_tasks import task


@task(job_type="hostile.leave.thread")
def leave_in_a_thread(kind: str) -> None:
    LEAVE[kind]()


@task(job_type="hostile.look.thread")
def look_in_a_thread() -> dict[str, Any]:
    return hostile.look()


@task(job_type="hostile.leave.process", isolation="process")
def leave_in_a_process(kind: str) -> None:
    LEAVE[kind]()


@task(job_type="hostile.look.process", isolation="process")
def look_in_a_process() -> dict[str, Any]:
    return hostile.look()


@task(job_type="hostile.leave.async")
async def leave_on_the_loop(kind: str) -> None:
    if kind in ("a block of the tenant", "a block of the other tenant", "an async task in the other tenant"):
        LEAVE[kind]()  # on the loop itself
    else:
        await sync_to_async(LEAVE[kind])()


@task(job_type="hostile.look.async")
async def look_on_the_loop() -> dict[str, Any]:
    assert current() == (await sync_to_async(current)())
    return await sync_to_async(hostile.look)()
