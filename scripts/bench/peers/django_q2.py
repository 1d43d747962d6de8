"""Django-Q2 on its ORM broker. A cluster of processes; jobs of a batch are acknowledged when they have run."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.marks import mark
from scripts.bench.peers import django_project

_NOOP = f"{__name__}.noop"


def noop(number: int) -> None:
    """Do nothing but say so."""
    mark(number)


class DjangoQ2(Contender):
    name = "Django-Q2"
    package = "django-q2"
    for_django = True
    has_bulk = False
    waiting = 2_000
    unfinished = "SELECT count(*) FROM django_q_ormq"
    stock = {}
    best = {"workers": 2, "bulk": 50, "queue_limit": 200}

    def prepare(self) -> None:
        _set_up()
        django_project.command("migrate")

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        _set_up()
        yield _Producer()

    def work(self, **setting: Any) -> None:
        _set_up(**setting)
        django_project.command("qcluster")


class _Producer(Producer):
    def __init__(self) -> None:
        from django_q.tasks import async_task

        self._async_task = async_task

    def one(self, number: int) -> None:
        self._async_task(_NOOP, number)


def _set_up(**setting: Any) -> None:
    django_project.set_up(
        INSTALLED_APPS=["django_q"],
        CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
        Q_CLUSTER={"name": "bench", "orm": "default", **setting},
    )
