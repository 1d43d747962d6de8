"""What a soak says while it goes on, and the table at its end."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.faults.own_server.server import OwnServer
from tests.testjobs import ledger

_DEAD = "SELECT sum(n_dead_tup), sum(pg_table_size(relid)) FROM pg_stat_user_tables WHERE relname = 'processing_jobs'"
_STATUSES = "SELECT status, count(*) FROM {}.processing_jobs GROUP BY status"


def say(text: str) -> None:
    print(text, flush=True)


@dataclass(frozen=True)
class Measured:
    """How it stood at one moment."""

    minute: float
    statuses: Counter[str]
    faults: int
    dead_tuples: int
    table_megabytes: float

    def __str__(self) -> str:
        done = self.statuses["succeeded"] + self.statuses["failed"]
        waiting = self.statuses["pending"] + self.statuses["processing"]
        return (
            f"{self.minute:8.1f} {done:10,} {waiting:9,} {self.statuses['dead_letter']:13,} {self.faults:8,} "
            f"{self.dead_tuples:12,} {self.table_megabytes:9.1f}"
        )


HEADER = "  minute       done   waiting  dead letters   faults  dead tuples  table MB"


class Progress:
    """Says how it stands once a minute."""

    def __init__(self, server: OwnServer, schemas: Sequence[str], ledger_file: Path) -> None:
        self._server = server
        self._schemas = schemas
        self._ledger_file = ledger_file
        self._began = time.monotonic()
        self._next = 60.0
        self.measured: list[Measured] = []
        say(HEADER)

    def tell_once_a_minute(self) -> None:
        if time.monotonic() - self._began >= self._next:
            self._next += 60
            self.tell()

    def tell(self) -> None:
        """Measure and say it; where that fails, since something is broken, say nothing."""
        try:
            statuses: Counter[str] = Counter()
            for schema in self._schemas:
                statuses.update(dict(self._server.execute(_STATUSES.format(schema))))
            ((dead, size),) = self._server.execute(_DEAD)
        except psycopg.Error:
            return
        faults = len(ledger.read(self._ledger_file, "fault"))
        minute = (time.monotonic() - self._began) / 60
        self.measured.append(Measured(minute, statuses, faults, int(dead), float(size) / 2**20))
        say(str(self.measured[-1]))

    def table(self) -> str:
        """Return all that was measured."""
        return "\n".join([HEADER, *map(str, self.measured)])

    def as_json(self) -> list[dict[str, Any]]:
        return [vars(measured) for measured in self.measured]
