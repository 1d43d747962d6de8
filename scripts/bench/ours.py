"""Our queue, driven by its public calls alone: ``Queue.enqueue``, ``enqueue_many`` and ``manage.py runworker``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from scripts.bench.contender import Contender, Producer, Setting

NOOP = "bench.noop"
NAP = "bench.nap"


class Ours(Contender):
    """The project ``scripts.bench.project`` on the queue of this repository."""

    name = "ours"
    for_django = True
    variables = {"DJANGO_SETTINGS_MODULE": "scripts.bench.project.settings"}
    unfinished = """
        SELECT (SELECT count(*) FROM processing_jobs WHERE status = 'processing')
             + (SELECT count(*) FROM processing_jobs WHERE status = 'pending' AND available_at <= now()
                   AND job_type = 'bench.noop' AND queue_name = 'default')
    """
    # Beside a million pending jobs that don't matter, only this is cheap to ask; started jobs are never pending.
    busy = "SELECT EXISTS (SELECT FROM processing_jobs WHERE status = 'processing')"

    def prepare(self) -> None:
        _set_up()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        _set_up()
        yield _Producer()

    def worker_command(self, python: Path, setting: Setting) -> list[str]:
        options = [
            f"--{name}" if value is True else f"--{name}={value}"
            for name, values in setting.items()
            for value in (values if isinstance(values, list) else [values])
        ]
        return [str(python), "manage.py", "runworker", *options]

    # What only our own parts ask for

    def enqueue(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Enqueue jobs, given as the arguments of ``JobSpec``, in one transaction."""
        _set_up()
        from jobqueue.queue import JobSpec, Queue

        Queue().enqueue_many([JobSpec(**job) for job in jobs])

    def enqueue_later(self, job_type: str) -> None:
        """Enqueue one job that is due tomorrow."""
        _set_up()
        from jobqueue.queue import Queue

        Queue().enqueue(job_type, {"number": 0}, available_at=datetime.now(UTC) + timedelta(days=1))

    def dequeue(self, limit: int, times: int) -> int:
        """Claim so often, as a worker for no-op jobs does; returns how many jobs were had."""
        _set_up()
        from jobqueue.queue import Queue

        queue = Queue()
        return sum(len(queue.dequeue_many("bench", limit, [NOOP], ["default"])) for _ in range(times))


class _Producer(Producer):
    def __init__(self) -> None:
        from jobqueue.queue import JobSpec, Queue

        self._queue = Queue()
        self._spec = JobSpec

    def one(self, number: int) -> None:
        self._queue.enqueue(NOOP, {"number": number})

    def many(self, numbers: Sequence[int]) -> None:
        self._queue.enqueue_many([self._spec(NOOP, {"number": number}) for number in numbers])


def _set_up() -> None:
    import django

    django.setup()
