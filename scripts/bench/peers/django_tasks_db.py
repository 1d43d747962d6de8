"""django-tasks-db: the database backend of Django's task API. One job at a time; no call for many jobs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.peers import django_project


class DjangoTasksDb(Contender):
    name = "django-tasks-db"
    package = "django-tasks-db"
    for_django = True
    has_bulk = False
    waiting = 3_000
    unfinished = "SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE status <> 'SUCCESSFUL'"
    stock = {}
    best = {"interval": 0}

    def prepare(self) -> None:
        _set_up()
        django_project.command("migrate")

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        _set_up()
        yield _Producer()

    def work(self, **setting: Any) -> None:
        _set_up()
        django_project.command("db_worker", startup_delay=False, **setting)


class _Producer(Producer):
    def __init__(self) -> None:
        from scripts.bench.peers.task import noop

        self._noop = noop

    def one(self, number: int) -> None:
        self._noop.enqueue(number)


def _set_up() -> None:
    django_project.set_up(
        INSTALLED_APPS=["django_tasks_db"], TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    )
