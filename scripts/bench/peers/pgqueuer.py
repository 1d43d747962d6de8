"""PgQueuer: asyncpg, LISTEN/NOTIFY, claims and finishes in batches; finished jobs move to a log table."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scripts.bench.contender import Contender, Producer
from scripts.bench.marks import mark


class PgQueuer(Contender):
    name = "PgQueuer"
    package = "pgqueuer"
    unfinished = "SELECT count(*) FROM pgqueuer"
    stock = {}
    best = {"batch_size": 100}

    def prepare(self) -> None:
        producer = _Producer()
        producer.wait_for(producer.queries.install())

    @contextmanager
    def producer(self) -> Iterator[Producer]:
        yield _Producer()

    def work(self, **setting: Any) -> None:
        import uvloop

        uvloop.run(_work(setting))


class _Producer(Producer):
    """Runs the asynchronous client on a loop of its own."""

    def __init__(self) -> None:
        import asyncpg
        from pgqueuer.db import AsyncpgDriver
        from pgqueuer.queries import Queries

        self._loop = asyncio.new_event_loop()
        self.queries = Queries(AsyncpgDriver(self.wait_for(asyncpg.connect())))

    def wait_for(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(coroutine)

    def one(self, number: int) -> None:
        self.wait_for(self.queries.enqueue("noop", b"%d" % number))

    def many(self, numbers: Sequence[int]) -> None:
        jobs = len(numbers)
        payloads = [b"%d" % number for number in numbers]
        self.wait_for(self.queries.enqueue(["noop"] * jobs, payloads, [0] * jobs))


async def _work(setting: dict[str, Any]) -> None:
    import asyncpg
    from pgqueuer import PgQueuer as Worker
    from pgqueuer.db import AsyncpgDriver

    worker = Worker(AsyncpgDriver(await asyncpg.connect()))

    @worker.entrypoint("noop")
    async def noop(job: Any) -> None:
        mark(int(job.payload))

    await worker.run(**setting)
