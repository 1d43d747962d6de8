"""django-ox: a backend of Django's task API with leases and a fence."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.peers import django_project


class DjangoOx(Contender):
    name = "django-ox"
    package = "django-ox"
    for_django = True
    waiting = 5_000
    unfinished = "SELECT count(*) FROM django_ox_oxtask WHERE status <> 'SUCCESSFUL'"
    stock = {}
    best = {"concurrency": 10}

    def prepare(self) -> None:
        _set_up()
        django_project.command("migrate")

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        _set_up()
        yield _Producer()

    def work(self, **setting: Any) -> None:
        _set_up()
        django_project.command("ox_worker", **setting)


class _Producer(Producer):
    def __init__(self) -> None:
        from django_ox.bulk import enqueue_many

        from scripts.bench.peers.task import noop

        self._noop, self._enqueue_many = noop, enqueue_many

    def one(self, number: int) -> None:
        self._noop.enqueue(number)

    def many(self, numbers: Sequence[int]) -> None:
        self._enqueue_many(self._noop, [([number], {}) for number in numbers])


def _set_up() -> None:
    django_project.set_up(INSTALLED_APPS=["django_ox"], TASKS={"default": {"BACKEND": "django_ox.backend.OxBackend"}})
