"""Which job the running code belongs to, for whoever logs."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobqueue.models import ProcessingJob

#: Set while a handler runs, in its thread and in the coroutines that it starts.
running_job: ContextVar[ProcessingJob | None] = ContextVar("jobqueue.running_job", default=None)
