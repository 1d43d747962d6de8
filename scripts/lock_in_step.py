"""Gate: what requirements/*.in ask for is what requirements/lock.txt holds. Needs no network."""

import re
import sys
from collections import defaultdict
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

REQUIREMENTS = Path("requirements")
REGENERATE = "uv pip compile --universal --generate-hashes --no-header requirements/dev.in -o requirements/lock.txt"


def locked(lock: str) -> dict[NormalizedName, list[Requirement]]:
    """The pinned requirements of a lock file by name: several where the lines of Python differ."""
    found = defaultdict(list)
    for line in re.findall(r"^([A-Za-z0-9].*?)\s*\\?$", lock, flags=re.MULTILINE):
        requirement = Requirement(line)
        found[canonicalize_name(requirement.name)].append(requirement)
    return found


def out_of_step(source: Path, lock: dict[NormalizedName, list[Requirement]]) -> list[str]:
    """One line, with file and line number, for each requirement that the lock doesn't satisfy."""
    problems = []
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        text = line.partition("#")[0].strip()
        if not text or text.startswith("-"):
            continue
        wanted = Requirement(text)
        pins = [next(iter(pin.specifier)).version for pin in lock[canonicalize_name(wanted.name)]]
        if not any(wanted.specifier.contains(version, prereleases=True) for version in pins):
            problems.append(f"{source}:{number}: lock: {text} is not in {REQUIREMENTS}/lock.txt; run `{REGENERATE}`")
    return problems


def main() -> None:
    lock = locked((REQUIREMENTS / "lock.txt").read_text())
    problems = [line for source in sorted(REQUIREMENTS.glob("*.in")) for line in out_of_step(source, lock)]
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
