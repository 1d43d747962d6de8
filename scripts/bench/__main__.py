"""``make bench``: measure, print the figures beside their goals, and write them down."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg

from scripts.bench import entrants, machine, report
from scripts.bench.bench import Bench
from scripts.bench.errors import NotMeasured
from scripts.bench.goals import Row
from scripts.bench.parts import drain, enqueue, latency
from scripts.bench.run import measure
from scripts.bench.server import running_server
from scripts.bench.sizes import FULL, QUICK
from scripts.bench.stage import ROOT
from scripts.bench.trials import Results
from scripts.postgres import PostgresError
from scripts.postgres_home import HomeError

PARTS: dict[str, ModuleType] = {part.PART: part for part in (enqueue, drain, latency)}


def main() -> int:
    """Returns 0, or 1 if something that had to be measured could not be."""
    # Whoever ends this ends the workers and the server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = _options()
    try:
        with running_server() as server, tempfile.TemporaryDirectory(prefix="bench-") as folder:
            present, missing, peers_run_on = entrants.peers() if options.peers else ([], [], {})
            bench = Bench(
                server, QUICK if options.quick else FULL, Path(folder), entrants.ours(), entrants.floor(), present
            )
            conditions = machine.describe() | {
                "postgresql": server.setting("server_version"),
                "ours": f"{bench.ours.version}, commit {_commit()}",
                "peers": ", ".join(f"{name} {version}" for name, version in peers_run_on.items()) or "none",
            }
            print("\n".join(f"{name:12}{value}" for name, value in conditions.items()), flush=True)
            results, seconds = measure(
                server, [PARTS[name].trials(bench) for name in options.only], options.rounds, _say
            )
            rows = [row for name in options.only for row in PARTS[name].rows(bench, results)]
    except (HomeError, NotMeasured, PostgresError, psycopg.OperationalError) as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    print("\n" + report.measured_table(results, options.only, missing))
    print("\n" + report.goals_table(rows))
    print("\nseconds: " + ", ".join(f"{name} {spent:.0f}" for name, spent in seconds.items()))
    _write(options.json, conditions, options, results, rows, seconds)
    return 1 if any(row.verdict == "not measured" and row.owed for row in rows) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
    parser.add_argument(
        "--only", type=_parts, default=list(PARTS), metavar="PART,...", help=f"only these parts of {', '.join(PARTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the harness: the figures mean little")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="repeats of everything, default 3")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="measure ours and the floor alone")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "var/bench.json", metavar="FILE", help="default %(default)s"
    )
    return parser.parse_args()


def _parts(text: str) -> list[str]:
    wanted = text.split(",")
    if unknown := set(wanted) - set(PARTS):
        raise argparse.ArgumentTypeError(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in wanted]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _commit() -> str:
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607 - whichever git is there
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout.strip() or "unknown"


def _write(
    target: Path,
    conditions: dict[str, str],
    options: argparse.Namespace,
    results: Results,
    rows: Sequence[Row],
    seconds: dict[str, float],
) -> None:
    document: dict[str, Any] = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "conditions": conditions,
        "options": {"quick": options.quick, "rounds": options.rounds, "only": options.only},
        "rows": [row.as_json() for row in rows],
        "samples": [sample.as_json() for sample in results.samples],
        "seconds": seconds,
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document, indent=1) + "\n")
    print(f"written to {target}")


if __name__ == "__main__":
    sys.exit(main())
