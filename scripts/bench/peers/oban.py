"""Oban in Python: asyncio, LISTEN/NOTIFY, a producer that claims as many jobs as there are free slots."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.marks import mark


class Oban(Contender):
    name = "Oban"
    package = "oban"
    waiting = 15_000
    unfinished = "SELECT count(*) FROM oban_jobs WHERE state <> 'completed'"
    stock = {"limit": 10}
    best = {"limit": 200}

    def prepare(self) -> None:
        asyncio.run(_install())

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        yield _Producer()

    def work(self, *, limit: int) -> None:  # type: ignore[override]  # its setting by name
        import orjson
        import uvloop
        from psycopg.types.json import set_json_dumps, set_json_loads

        set_json_dumps(orjson.dumps)  # as its own command line does
        set_json_loads(orjson.loads)
        uvloop.run(_work(limit))


class _Producer(Producer):
    """Runs the asynchronous client on a loop of its own."""

    def __init__(self) -> None:
        import oban

        self._loop = asyncio.new_event_loop()
        self._oban = oban.Oban(pool=self._loop.run_until_complete(_pool()))
        self._job = _job()

    def one(self, number: int) -> None:
        self._loop.run_until_complete(self._oban.enqueue(self._job.new({"number": number})))

    def many(self, numbers: Sequence[int]) -> None:
        jobs = [self._job.new({"number": number}) for number in numbers]
        self._loop.run_until_complete(self._oban.enqueue_many(jobs))


def _job() -> Any:
    from oban import worker

    @worker(queue="default")
    class Noop:
        async def process(self, job: Any) -> None:
            mark(job.args["number"])

    return Noop


async def _pool() -> Any:
    import oban

    return await oban.Oban.create_pool(f"dbname={os.environ['PGDATABASE']}")


async def _install() -> None:
    from oban.schema import install

    pool = await _pool()
    await install(pool)
    await pool.close()


async def _work(limit: int) -> None:
    import oban

    _job()
    async with oban.Oban(pool=await _pool(), queues={"default": limit}):
        await asyncio.Event().wait()
