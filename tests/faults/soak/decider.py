"""A process that decides about jobs as people do: cancels some, requeues and discards dead letters."""

import random
import signal
import sys
import time
from collections.abc import Callable

import django
from django.db import DatabaseError, connections

django.setup()

from jobqueue.exceptions import JobQueueError  # noqa: E402 - models need the settings
from jobqueue.models import ProcessingJob  # noqa: E402
from jobqueue.queue import Queue  # noqa: E402
from jobqueue.tenant_source import tenant_source  # noqa: E402
from tests.testjobs import ledger  # noqa: E402

PAUSE_SECONDS = 0.5


class Decider:
    def __init__(self, schemas: list[str], seed: str) -> None:
        self.schemas = schemas
        self.random = random.Random(seed)
        self.queue = Queue()
        self.going_on = True

    def run(self) -> None:
        verbs: dict[str, tuple[str, Callable[[int], object]]] = {
            "requeue": ("dead_letter", self.queue.requeue_dead_letter),
            "discard": ("dead_letter", self.queue.discard),
            "cancel": ("processing", self.queue.cancel),
        }
        while self.going_on:
            schema, verb = self.random.choice(self.schemas), self.random.choice(["requeue", "requeue", *verbs])
            status, decide = verbs[verb]
            try:
                self.decide(schema, verb, status, decide)
            except DatabaseError:
                connections.close_all()
            time.sleep(self.random.uniform(0, 2 * PAUSE_SECONDS))

    def decide(self, schema: str, verb: str, status: str, decide: Callable[[int], object]) -> None:
        """Decide about one job in the status, if there is one, and tell."""
        with tenant_source().use(schema):
            jobs = list(ProcessingJob.objects.filter(status=status).values_list("pk", flat=True)[:50])
            if not jobs:
                return
            job, outcome = self.random.choice(jobs), "unknown"
            try:
                outcome = "refused" if decide(job) is False else "done"
            except JobQueueError:
                outcome = "refused"
            finally:
                if outcome != "refused":
                    ledger.write("decided", schema=schema, job=job, verb=verb, outcome=outcome)

    def stop(self, *_: object) -> None:
        self.going_on = False


if __name__ == "__main__":
    decider = Decider(sys.argv[2:], sys.argv[1])
    signal.signal(signal.SIGTERM, decider.stop)
    decider.run()
