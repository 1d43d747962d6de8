"""Procrastinate: tasks on PostgreSQL, LISTEN/NOTIFY, asyncio."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.marks import mark


class Procrastinate(Contender):
    name = "Procrastinate"
    package = "procrastinate"
    for_django = True
    waiting = 5_000
    unfinished = "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'"
    stock = {"concurrency": 1}
    best = {"concurrency": 10}

    def prepare(self) -> None:
        with _client().open() as app:
            app.schema_manager.apply_schema()

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        with _client().open() as app:
            yield _Producer(app.tasks["noop"])

    def work(self, **setting: Any) -> None:
        from procrastinate import PsycopgConnector

        _app(PsycopgConnector(conninfo="")).run_worker(**setting)


class _Producer(Producer):
    def __init__(self, task: Any) -> None:
        self._task = task

    def one(self, number: int) -> None:
        self._task.defer(number=number)

    def many(self, numbers: Sequence[int]) -> None:
        self._task.batch_defer(*[{"number": number} for number in numbers])


def _client() -> Any:
    from procrastinate import SyncPsycopgConnector

    return _app(SyncPsycopgConnector(conninfo=""))


def _app(connector: Any) -> Any:
    import procrastinate

    app = procrastinate.App(connector=connector)

    @app.task(name="noop")
    async def noop(number: int) -> None:
        mark(number)

    return app
