"""Gate: the layers of pyproject.toml. import-linter's verdict, with each import also as ``file:line: rule``."""

import re
import subprocess
import sys
from pathlib import Path

LINT = [sys.executable, "-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"]
IMPORT = re.compile(r"([\w.]+) -> ([\w.]+) \(l\.(\d+)")


def locations(report: str) -> list[str]:
    """The forbidden imports of a report; each stands under its contract's name, which has a rule drawn below it."""
    found = []
    contract = ""
    lines = report.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            contract = line
        for importer, imported, number in IMPORT.findall(line):
            found.append(f"{_file(importer)}:{number}: {contract}: imports {imported}")
    return found


def _file(module: str) -> Path:
    path = Path(module.replace(".", "/"))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def main() -> None:
    lint = subprocess.run(LINT, capture_output=True, text=True)
    if lint.returncode == 0:
        return
    report = lint.stdout.partition("Broken contracts\n")[2] or lint.stdout
    print(report.strip("-\n"), *locations(report), lint.stderr, sep="\n", file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    main()
