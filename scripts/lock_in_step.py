"""Gate: what requirements/*.in ask for is what their lock files hold. Needs no network."""

import re
import sys
from collections import defaultdict
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

REQUIREMENTS = Path("requirements")
LOCK = "lock.txt"
# What is installed apart from the product has a lock of its own.
OWN_LOCKS = {"bench-peers.in": "bench-peers.txt"}
REGENERATE = "uv pip compile --universal --python-version 3.11 --generate-hashes --no-header requirements/{} -o {}"


def locked(lock: str) -> dict[NormalizedName, list[Requirement]]:
    """The pinned requirements of a lock file by name: several where the lines of Python differ."""
    found = defaultdict(list)
    for line in re.findall(r"^([A-Za-z0-9].*?)\s*\\?$", lock, flags=re.MULTILINE):
        requirement = Requirement(line)
        found[canonicalize_name(requirement.name)].append(requirement)
    return found


def out_of_step(source: Path) -> list[str]:
    """One line, with file and line number, for each requirement that its lock doesn't satisfy."""
    lock_file = REQUIREMENTS / OWN_LOCKS.get(source.name, LOCK)
    lock = locked(lock_file.read_text())
    regenerate = REGENERATE.format(source.name if source.name in OWN_LOCKS else "dev.in", lock_file)
    problems = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text or text.startswith("-"):
            continue
        wanted = Requirement(text)
        pins = [next(iter(pin.specifier)).version for pin in lock[canonicalize_name(wanted.name)]]
        if not any(wanted.specifier.contains(version, prereleases=True) for version in pins):
            problems.append(f"{source}:{number}: lock: {text} is not in {lock_file}; run `{regenerate}`")
    return problems


def main() -> None:
    problems = [line for source in sorted(REQUIREMENTS.glob("*.in")) for line in out_of_step(source)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
