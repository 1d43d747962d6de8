"""Run it: workers, producers and faults for SOAK_MINUTES, then peace, then the verdict.

Exit 0 whatever the verdict is, and 1 if there is none.
"""

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import django
import psycopg

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from scripts.postgres import PostgresError  # noqa: E402 - needs the settings, as does the rest
from scripts.postgres_home import HomeError  # noqa: E402
from tests.faults.checker import Violation  # noqa: E402
from tests.faults.own_server.server import OwnServer  # noqa: E402
from tests.faults.soak import faults  # noqa: E402
from tests.faults.soak.faults import SHUTDOWN_GRACE, SIGN_OF_LIFE_GRACE, STALE_LOCK_AFTER, Field  # noqa: E402
from tests.faults.soak.fleet import Fleet  # noqa: E402
from tests.faults.soak.progress import Progress, say  # noqa: E402
from tests.faults.tables import read_rows  # noqa: E402
from tests.faults.telling import from_events  # noqa: E402
from tests.faults.verdict import Verdict, verdict  # noqa: E402
from tests.jobqueue.workers import TENANTS, environment  # noqa: E402
from tests.testjobs import ledger  # noqa: E402

WORKERS, PRODUCERS = 4, 2
SCHEMAS = ("public", *TENANTS)
RESULTS = Path("var/soak/results.json")
#: Between two faults, in seconds.
PEACE = (0.5, 4.0)
#: How long the workers may take for what is left, when nothing is broken any more.
QUIET_WITHIN_SECONDS = 300.0

_LEFT = "SELECT count(*) FROM {}.processing_jobs WHERE status IN ('pending', 'processing')"


class Soak:
    """One run, in a folder of its own."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.chance = random.Random(seed)
        self.ledger_file = folder / "ledger"
        os.environ[ledger.VARIABLE] = str(self.ledger_file)

    def run(self, minutes: float) -> tuple[Verdict, Progress]:
        """Break things for so long, then judge."""
        with self._running() as place:
            progress = Progress(place.server, SCHEMAS, self.ledger_file)
            end = time.monotonic() + minutes * 60
            while time.monotonic() < end:
                progress.tell_once_a_minute()
                if self.chance.random() < 0.03:
                    self._hold_a_snapshot(place.server)
                faults.choose(self.chance)(place)
                time.sleep(self.chance.uniform(*PEACE))
            return self._judge(place, progress), progress

    @contextmanager
    def _running(self) -> Iterator[Field]:
        with ExitStack() as stack:
            server = OwnServer(self.folder / "server")
            stack.callback(server.remove)
            server.restart(max_connections="80")
            proxy = server.behind_a_proxy()
            stack.callback(proxy.close)
            fleet = Fleet(self.folder, SCHEMAS, self.chance)
            stack.callback(fleet.end)
            by_turns = [self._environment(server.url), self._environment(server.url_by(proxy))]
            for number in range(WORKERS):
                fleet.start_worker(by_turns[number % 2])
            for number in range(PRODUCERS):
                fleet.start_producer(by_turns[number % 2])
            fleet.start_decider(by_turns[1])
            yield Field(server, proxy, fleet, self.chance)

    def _environment(self, url: str) -> dict[str, str]:
        return environment(
            url,
            self.ledger_file,
            stale_lock_after=STALE_LOCK_AFTER,
            sign_of_life_grace=SIGN_OF_LIFE_GRACE,
            shutdown_grace=SHUTDOWN_GRACE,
            poll_interval=0.5,
        ) | {"DMS_LOG_LEVEL": "WARNING"}

    def _hold_a_snapshot(self, server: OwnServer) -> None:
        seconds = self.chance.uniform(20, 60)
        threading.Thread(target=faults.held_snapshot, args=(server, seconds), daemon=True).start()

    # The end

    def _judge(self, place: Field, progress: Progress) -> Verdict:
        say("Peace: nobody enqueues any more, nothing is broken, and the workers do what is left.")
        place.fleet.stop("producer", "decider")
        quiet_by = time.monotonic() + QUIET_WITHIN_SECONDS
        while self._left(place.server) and time.monotonic() < quiet_by:
            progress.tell_once_a_minute()
            time.sleep(0.5)
        place.fleet.stop("worker")
        progress.tell()
        history = from_events(ledger.read(self.ledger_file), read_rows(place.server.url, SCHEMAS))
        return verdict(history, [Violation("process", surprise) for surprise in place.fleet.surprises])

    def _left(self, server: OwnServer) -> int:
        return sum(server.execute(_LEFT.format(schema))[0][0] for schema in SCHEMAS)


def main() -> int:
    """Return 0, or 1 if nothing could be judged."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        minutes = float(os.environ.get("SOAK_MINUTES", "10"))
        seed = int(os.environ.get("SOAK_SEED") or random.SystemRandom().randrange(2**31))
    except ValueError:
        sys.exit("error: SOAK_MINUTES must be a number, and SOAK_SEED a whole one")
    folder = Path(tempfile.mkdtemp(prefix="dms-soak-"))
    say(f"Soaking for {minutes:g} minutes with SOAK_SEED={seed}; logs and ledger are in {folder}")
    try:
        judged, progress = Soak(folder, seed).run(minutes)
    except (HomeError, PostgresError, psycopg.OperationalError) as error:
        sys.exit(f"error: nothing could be judged: {str(error).splitlines()[0]}")
    say(f"\n{progress.table()}\n\n{judged}")
    _write({"minutes": minutes, "seed": seed, "over_time": progress.as_json()} | judged.as_json())
    if judged.clean:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        say(f"What happened stands in {folder}.")
    return 0


def _write(results: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1))
    say(f"The same as JSON is in {RESULTS}.")


if __name__ == "__main__":
    sys.exit(main())
