"""``make bench-tenants``: measure one fleet with many tenants, and write the figures down beside their goals."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import psycopg

from scripts.bench import entrants, machine, report
from scripts.bench.bench import Bench
from scripts.bench.errors import NotMeasured
from scripts.bench.run import measure
from scripts.bench.server import Server, running_server
from scripts.bench.sizes import FULL as BENCH_SIZES
from scripts.bench.stage import Entrant
from scripts.bench.tenants import parts
from scripts.bench.tenants.fleet import Fleet
from scripts.postgres import PostgresError
from scripts.postgres_home import HomeError

_PARTS = ["idle", "latency", "drain", "fairness", "migrate"]


def main() -> int:
    """Returns 0, or 1 if something could not be measured."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    options = _options()
    try:
        with running_server() as server, tempfile.TemporaryDirectory(prefix="bench-") as folder:
            return _run(options, server, Path(folder))
    except (HomeError, NotMeasured, PostgresError, psycopg.OperationalError) as error:
        print(f"error: {str(error).splitlines()[0]}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _run(options: argparse.Namespace, server: Server, folder: Path) -> int:
    bench = Bench(server, BENCH_SIZES, folder, entrants.ours(), entrants.floor(), [])
    fleet = Entrant(Fleet(), Path(sys.executable), f"Django {version('Django')}")
    run = parts.Run(bench, fleet, options.tenants, parts.QUICK if options.quick else parts.FULL)
    conditions = machine.describe() | {
        "postgresql": server.setting("server_version"),
        "ours": f"{fleet.version}",
        "tenants": f"{options.tenants:,}",
    }
    print("\n".join(f"{name:13}{value}" for name, value in conditions.items()), flush=True)
    trials = [trial for trial in parts.trials(run) if trial.key.part in options.only]
    results, seconds = measure(server, [trials], options.rounds, lambda line: print(line, file=sys.stderr, flush=True))
    keys = {trial.key.part for trial in trials}
    rows = [row for row in parts.rows(run, results) if row.spread or keys == set(_PARTS)]
    print(f"\n{report.measured_table(results, options.only, [])}\n\n{report.goals_table(rows)}\n")
    options.out.mkdir(parents=True, exist_ok=True)
    document = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "conditions": conditions,
        "rows": [row.as_json() for row in rows],
        "samples": [sample.as_json() for sample in results.samples],
        "seconds": seconds,
    }
    (options.out / "tenants.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{options.out / 'tenants.json'} has all samples")
    return 1 if any(sample.reason for sample in results.samples) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-tenants ARGS=...", description=__doc__)
    parser.add_argument("--tenants", type=int, default=1_000, metavar="N", help="default %(default)s; at least 100")
    parser.add_argument("--only", type=lambda text: text.split(","), default=_PARTS, metavar="PART,...",
                        help=f"only these of {', '.join(_PARTS)}")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="small sizes: the figures mean little")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="repeats, default %(default)s")
    parser.add_argument("--out", type=Path, default=Path("var/bench"), metavar="FOLDER", help="default %(default)s")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
