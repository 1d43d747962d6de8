"""Run each job as soon as it is enqueued."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any
from unittest.mock import patch

from jobqueue.queue import Queue
from jobqueue.testing.running import run_jobs


@contextmanager
def immediate(*, allow_failures: bool = False) -> Iterator[None]:
    """Let every enqueue run what is due before it returns, by ``run_jobs``: the new job, unless it is for later.

    Args:
        allow_failures: False: ``JobsFailed`` comes out of the call that enqueued.
    """
    with (
        patch.object(Queue, "enqueue", _and_run(Queue.enqueue, allow_failures)),
        patch.object(Queue, "enqueue_many", _and_run(Queue.enqueue_many, allow_failures)),
    ):
        yield


def _and_run(enqueue: Callable[..., Any], allow_failures: bool) -> Callable[..., Any]:
    @wraps(enqueue)
    def enqueue_and_run(queue: Queue, *args: Any, **kwargs: Any) -> Any:
        answer = enqueue(queue, *args, **kwargs)
        run_jobs(allow_failures=allow_failures, using=queue.using)
        for job in answer if isinstance(answer, list) else [answer]:
            job.refresh_from_db()
        return answer

    return enqueue_and_run
