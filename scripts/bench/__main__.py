"""``make bench``: measure, print the figures beside their goals, and write them down."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

import psycopg

from scripts.bench import entrants, machine, report
from scripts.bench.bench import Bench
from scripts.bench.documents import Report
from scripts.bench.errors import NotMeasured
from scripts.bench.parts import costs, death, drain, enqueue, growth, hoarding, idle, latency, memory, snapshot
from scripts.bench.run import measure
from scripts.bench.server import Server, running_server
from scripts.bench.sizes import FULL, QUICK
from scripts.bench.stage import ROOT
from scripts.postgres import PostgresError
from scripts.postgres_home import HomeError

PARTS: dict[str, ModuleType] = {
    part.PART: part for part in (enqueue, drain, costs, latency, idle, growth, snapshot, death, memory, hoarding)
}


def main() -> int:
    """Returns 0, or 1 if something that had to be measured could not be."""
    # Whoever ends this ends the workers and the server, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = _options()
    try:
        with running_server() as server, tempfile.TemporaryDirectory(prefix="bench-") as folder:
            finished = _run(options, server, Path(folder))
    except (HomeError, NotMeasured, PostgresError, psycopg.OperationalError) as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    finished.write(options.out)
    print(f"results.json, tables.md and chart.svg are in {options.out}")
    return 1 if any(row.verdict == "not measured" and row.owed for row in finished.rows) else 0


def _run(options: argparse.Namespace, server: Server, folder: Path) -> Report:
    peers, missing, peers_run_on = entrants.peers() if options.peers else ([], [], {})
    bench = Bench(server, QUICK if options.quick else FULL, folder, entrants.ours(), entrants.floor(), peers)
    conditions = machine.describe() | {
        "postgresql": server.setting("server_version"),
        "ours": f"{bench.ours.version}, commit {_commit()}",
        "peers": _listed({peer.name: peer.version for peer in peers}),
        "they run on": _listed(peers_run_on),
    }
    print("\n".join(f"{name:13}{value}" for name, value in conditions.items()), flush=True)
    parts = [PARTS[name] for name in options.only]
    results, seconds = measure(server, [part.trials(bench) for part in parts], options.rounds, _say)
    rows = [row for part in parts for row in part.rows(bench, results)]
    print(f"\n{report.measured_table(results, options.only, missing)}\n\n{report.goals_table(rows)}\n")
    print("seconds: " + ", ".join(f"{name} {spent:.0f}" for name, spent in seconds.items()))
    given = {"quick": options.quick, "rounds": options.rounds, "only": options.only}
    return Report(conditions, given, results, rows, seconds)


def _listed(versions: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items()) or "none"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench ARGS=...", description=__doc__)
    parser.add_argument(
        "--only", type=_parts, default=list(PARTS), metavar="PART,...", help=f"only these parts of {', '.join(PARTS)}"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the harness: the figures mean little")
    parser.add_argument("--rounds", type=_rounds, default=3, metavar="N", help="repeats of everything, default 3")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="measure ours and the floor alone")
    parser.add_argument("--out", type=Path, default=Path("var/bench"), metavar="FOLDER", help="default %(default)s")
    return parser.parse_args()


def _rounds(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError("give a number from 1")
    return int(text)


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


if __name__ == "__main__":
    sys.exit(main())
