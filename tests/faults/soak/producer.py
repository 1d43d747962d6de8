"""A process that enqueues without end, tells what it means to do and what became of it, and may be killed."""

import random
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import django
from django.db import DatabaseError, connections, transaction

django.setup()

from jobqueue.models import ProcessingJob  # noqa: E402 - models need the settings
from jobqueue.queue import JobSpec, Queue  # noqa: E402
from jobqueue.tenant_source import tenant_source  # noqa: E402
from tests.testjobs import ledger  # noqa: E402

#: How an attempt goes, by weight.
HOW = {"return": 900, "raise": 80, "useless": 15, "kill": 2}
#: How it uses the database meanwhile.
ONLINE: dict[Any, int] = {False: 70, True: 25, "holding": 5}
#: How long it takes, in seconds; the last ones outlast locks.
SECONDS = {0.0: 500, 0.01: 300, 0.2: 100, 2.0: 20, 12.0: 2}
BATCHES = (1, 1, 1, 1, 2, 5, 20, 60)
PAUSE_SECONDS = 0.15
#: Nothing more is enqueued where so many wait.
ENOUGH = 1_500


class Producer:
    def __init__(self, schemas: list[str], seed: str) -> None:
        self.schemas = schemas
        self.random = random.Random(seed)
        self.going_on = True

    def run(self) -> None:
        while self.going_on:
            schema = self.random.choice(self.schemas)
            try:
                if not self.has_enough(schema):
                    self.enqueue(schema)
            except DatabaseError:
                connections.close_all()
            time.sleep(self.random.uniform(0, 2 * PAUSE_SECONDS))

    def has_enough(self, schema: str) -> bool:
        with tenant_source().use(schema):
            return ProcessingJob.objects.filter(status="pending")[:ENOUGH].count() == ENOUGH

    def enqueue(self, schema: str) -> None:
        """Enqueue a batch, roll some back, and tell."""
        specs = {str(UUID(int=self.random.getrandbits(128))): self.spec(schema) for _ in range(self.size())}
        marks = {mark: spec.idempotency_key for mark, spec in specs.items()}
        rolls_back = self.random.random() < 0.1
        ledger.write("enqueueing", schema=schema, batch=min(marks), marks=marks)
        for mark, spec in specs.items():
            spec.payload["mark"] = mark
        try:
            with tenant_source().use(schema), transaction.atomic():
                if len(specs) == 1:
                    spec = next(iter(specs.values()))
                    Queue().enqueue(**{name: getattr(spec, name) for name in JobSpec.__dataclass_fields__})
                else:
                    Queue().enqueue_many(specs.values())
                transaction.set_rollback(rolls_back)
        except DatabaseError:
            connections.close_all()  # nobody knows; it tries something else
            time.sleep(0.2)
        else:
            ledger.write("rolled back" if rolls_back else "committed", marks=list(marks))

    def size(self) -> int:
        return self.random.choice(BATCHES)

    def spec(self, schema: str) -> JobSpec:
        later = self.random.random() < 0.05
        return JobSpec(
            "test.work",
            {"schema": schema, "plan": [self.step() for _ in range(3)]},
            idempotency_key=f"key {self.random.randrange(100_000)}" if self.random.random() < 0.1 else None,
            queue_name=self.random.choice(["default", "default", "slow"]),
            priority=self.random.choice([-1, 0, 0, 0, 1]),
            available_at=datetime.now(UTC) + timedelta(seconds=self.random.uniform(0, 5)) if later else None,
            max_attempts=self.random.randint(1, 5),
        )

    def step(self) -> dict[str, Any]:
        return {"how": self.one_of(HOW), "online": self.one_of(ONLINE), "seconds": self.one_of(SECONDS)}

    def one_of(self, weights: dict[Any, int]) -> Any:
        return self.random.choices(list(weights), list(weights.values()))[0]

    def stop(self, *_: object) -> None:
        self.going_on = False


if __name__ == "__main__":
    producer = Producer(sys.argv[2:], sys.argv[1])
    signal.signal(signal.SIGTERM, producer.stop)
    producer.run()
