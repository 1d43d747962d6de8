"""From the lines of a ledger to a history."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tests.faults.history import Decision, Enqueue, Fault, History, JobId, Row, Run, Worker

Event = Mapping[str, Any]


def from_events(events: Iterable[Event], rows: Sequence[Row]) -> History:
    """Put a history together from a ledger (see ``tests.testjobs.ledger``) and the tables as they are at the end."""
    telling = Telling()
    for event in events:
        telling.hear(event)
    return History(
        list(telling.enqueues.values()),
        rows,
        list(telling.runs.values()),
        list(telling.workers.values()),
        telling.faults,
        telling.decisions,
    )


class Telling:
    """What is known after each event."""

    def __init__(self) -> None:
        self.enqueues: dict[str, Enqueue] = {}
        self.runs: dict[tuple[JobId, str], Run] = {}  # the jobs of one claim have the same token
        self.workers: dict[str, Worker] = {}
        self.faults: list[Fault] = []
        self.decisions: list[Decision] = []
        self._kinds: dict[str, Callable[[Event], None]] = {
            "enqueueing": self._enqueueing,
            "committed": self._enqueued,
            "rolled back": self._enqueued,
            "start": self._start,
            "end": self._end,
            "worker": self._worker,
            "worker ended": self._worker_ended,
            "fault": self._fault,
            "decided": self._decided,
        }

    def hear(self, event: Event) -> None:
        self._kinds[event["event"]](event)

    def _enqueueing(self, event: Event) -> None:
        for mark, key in event["marks"].items():
            self.enqueues[mark] = Enqueue(event["schema"], mark, event["batch"], "unknown", key)

    def _enqueued(self, event: Event) -> None:
        for mark in event["marks"]:
            known = self.enqueues[mark]
            self.enqueues[mark] = Enqueue(known.schema, mark, known.batch, event["event"], known.key)

    def _start(self, event: Event) -> None:
        job, token = JobId(event["schema"], event["job"]), event["token"]
        self.runs[job, token] = Run(job, token, event["attempt"], event["worker"], event["at"])

    def _end(self, event: Event) -> None:
        run = self.runs[JobId(event["schema"], event["job"]), event["token"]]
        run.ended, run.how, run.seen_schema = event["at"], event["how"], event["seen_schema"]

    def _worker(self, event: Event) -> None:
        self.workers[event["name"]] = Worker(event["name"])

    def _worker_ended(self, event: Event) -> None:
        self.workers[event["name"]] = Worker(event["name"], event["at"], event["died"])

    def _fault(self, event: Event) -> None:
        workers = None if event["workers"] is None else frozenset(event["workers"])
        self.faults.append(Fault(event["kind"], event["began"], event["at"], workers, event["costs_claims"]))

    def _decided(self, event: Event) -> None:
        job = JobId(event["schema"], event["job"])
        self.decisions.append(Decision(job, event["verb"], event["at"], event["outcome"]))
