"""Who takes part in a run: what is installed here."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from scripts.bench.floor import Floor
from scripts.bench.ours import Ours
from scripts.bench.peers.catalogue import PEERS
from scripts.bench.stage import ROOT, Entrant

#: Made by `make bench-peers`.
PEERS_PYTHON = ROOT / ".venv-bench/bin/python"

_ASK = """
import json, platform, sys
from importlib.metadata import PackageNotFoundError, version
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def ours() -> Entrant:
    return Entrant(Ours(), Path(sys.executable), f"Django {version('Django')}")


def floor() -> Entrant:
    return Entrant(Floor(), Path(sys.executable), f"psycopg {version('psycopg')}")


def peers() -> tuple[list[Entrant], list[str], dict[str, str]]:
    """Return the peers that are installed, the names of those that aren't, and what they run on."""
    packages = [peer.package for peer in PEERS if peer.package]
    found = _versions([*packages, "Django", "psycopg"])
    present = [Entrant(peer, PEERS_PYTHON, found[str(peer.package)]) for peer in PEERS if peer.package in found]
    missing = [peer.name for peer in PEERS if peer.package not in found]
    return present, missing, {name: found[name] for name in ("python", "Django", "psycopg") if name in found}


def _versions(packages: list[str]) -> dict[str, str]:
    if not PEERS_PYTHON.exists():
        return {}
    command = [str(PEERS_PYTHON), "-c", _ASK, *packages]
    found: dict[str, str] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found
