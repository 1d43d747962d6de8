"""What really ran, kept apart from the job table: one line per event in a file that many processes append to."""

import json
import os
import time
from pathlib import Path
from typing import Any

from django.db import connection

VARIABLE = "JOBQUEUE_TEST_LEDGER"


def write(event: str, **facts: Any) -> None:
    """Append one event; a write of one short line with O_APPEND is not torn by others."""
    line = json.dumps({"event": event, "at": time.monotonic(), "pid": os.getpid(), **facts}, default=str) + "\n"
    descriptor = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def read(path: Path, event: str | None = None) -> list[dict[str, Any]]:
    """Return the events so far, oldest first."""
    if not path.exists():
        return []
    events = [json.loads(line) for line in path.read_text().splitlines()]
    return [entry for entry in events if event is None or entry["event"] == event]


def current_schema() -> str:
    """Return the schema that the connection really is in."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        return str(cursor.fetchone()[0])
