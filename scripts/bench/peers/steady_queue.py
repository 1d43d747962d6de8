"""Steady Queue: Solid Queue in Python. A supervisor forks workers, a dispatcher and a scheduler."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.peers import django_project


class SteadyQueue(Contender):
    name = "Steady Queue"
    package = "steady-queue"
    for_django = True
    has_bulk = False
    waiting = 2_000
    unfinished = "SELECT count(*) FROM steady_queue_job WHERE finished_at IS NULL"
    stock = {"threads": 3, "poll_seconds": 0.1}
    best = {"threads": 10, "poll_seconds": 0.01}

    def prepare(self) -> None:
        _set_up()
        django_project.command("migrate")

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        _set_up()
        yield _Producer()

    def work(self, **setting: Any) -> None:
        _set_up(**setting)
        django_project.command("steady_queue")


class _Producer(Producer):
    def __init__(self) -> None:
        from scripts.bench.peers.task import noop

        self._noop = noop

    def one(self, number: int) -> None:
        self._noop.enqueue(number)


def _set_up(threads: int = 3, poll_seconds: float = 0.1) -> None:
    from steady_queue.configuration import Configuration

    worker = Configuration.Worker(threads=threads, polling_interval=timedelta(seconds=poll_seconds))
    django_project.set_up(
        INSTALLED_APPS=["steady_queue"],
        TASKS={"default": {"BACKEND": "steady_queue.backend.SteadyQueueBackend"}},
        STEADY_QUEUE=Configuration.Options(workers=[worker], dispatchers=[Configuration.Dispatcher()]),
    )
