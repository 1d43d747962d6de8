"""Real worker processes, and jobs that lie in both tenants for them to work on."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.queue import Queue
from tests.jobqueue.waiting import eventually
from tests.programs import manage
from tests.testjobs import ledger

ROOT = Path(__file__).resolve().parents[2]
TENANTS = ("acme", "globex")


class WorkerProcess:
    """One ``manage.py runworker``; ``start`` in this package's conftest makes it and ends it."""

    def __init__(self, arguments: Iterable[str], environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = manage(["runworker", *arguments], environment, output)
        self.pid = self.process.pid

    @property
    def output(self) -> str:
        return self.log.read_text()

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def has_said(self, text: str, within: float = 30) -> None:
        """Wait until it prints the text."""
        eventually(lambda: text in self.output or not self.alive, within=within, what=f"{text!r} in {self.output}")
        assert text in self.output, self.output

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def terminate(self) -> int:
        """Stop it in the orderly way, once it is up, and return its exit status."""
        self.has_said("worker ")
        self.signal(signal.SIGTERM)
        return self.status()

    def kill(self) -> int:
        self.process.kill()
        return self.status()

    def status(self, within: float = 30) -> int:
        """Wait for its end and return its exit status."""
        return self.process.wait(within)

    def children(self) -> list[psutil.Process]:
        """Return the worker processes under it, once they are there."""
        return psutil.Process(self.pid).children()

    def end(self) -> None:
        """Leave nothing of it, whatever state it is in."""
        family = []
        with suppress(psutil.NoSuchProcess):
            family = psutil.Process(self.pid).children(recursive=True)
        self.process.kill()
        self.process.wait()
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, timeout=10)


@dataclass(frozen=True)
class Twins:
    """The same job in each tenant."""

    ids: dict[str, int]

    def rows(self) -> list[ProcessingJob]:
        """Return both jobs as they stand in their tables now."""
        rows = []
        for tenant, pk in self.ids.items():
            with use(tenant):
                rows.append(ProcessingJob.objects.get(pk=pk))
        return rows

    def are(self, **columns: Any) -> bool:
        return all(getattr(row, name) == value for row in self.rows() for name, value in columns.items())

    def become(self, status: str, within: float = 30) -> list[ProcessingJob]:
        """Wait until both have the status, and return their rows."""
        eventually(
            lambda: self.are(status=status),
            within=within,
            what=f"{status}: {[(row.status, row.attempts, row.last_error[:200]) for row in self.rows()]}",
        )
        return self.rows()


class BothTenants:
    """Enqueues in each tenant, and reads what ran there."""

    def __init__(self, ledger_file: Path) -> None:
        self.ledger_file = ledger_file

    def enqueue(self, job_type: str, payload: dict[str, Any] | None = None, **options: Any) -> Twins:
        ids = {}
        for tenant in TENANTS:
            with use(tenant):
                ids[tenant] = Queue().enqueue(job_type, payload or {}, **options).pk
        return Twins(ids)

    def events(self, twins: Twins, event: str = "start") -> list[list[dict[str, Any]]]:
        """Return what happened to each of the two, by tenant, oldest first."""
        events = ledger.read(self.ledger_file, event)
        return [
            [entry for entry in events if (entry["schema"], entry["job"]) == (tenant, pk)]
            for tenant, pk in twins.ids.items()
        ]

    def runs(self, twins: Twins) -> list[int]:
        """Return how often each of the two was started."""
        return [len(entries) for entries in self.events(twins)]

    def have_started(self, twins: Twins, times: int = 1, within: float = 30) -> None:
        eventually(lambda: all(count >= times for count in self.runs(twins)), within=within, what="jobs started")

    def a_canary_passes(self, within: float = 30, **options: Any) -> None:
        """The worker still works: ordinary jobs in both tenants are done soon."""
        self.enqueue("test.ok", **options).become("succeeded", within)


def environment(database_url: str, ledger_file: Path, **durations: float) -> dict[str, str]:
    """Return what a worker process needs, with ``JOBQUEUE`` durations in seconds by their names in small letters."""
    given = {"poll_interval": 0.05, "sign_of_life_grace": 0.5} | durations
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.jobqueue.worker_settings",
        "DATABASE_URL": database_url,
        ledger.VARIABLE: str(ledger_file),
        **{f"JOBQUEUE_TEST_{name.upper()}": str(seconds) for name, seconds in given.items()},
    }
