"""The table at the end of ``make test-faults``: of each file's scenarios, how many held.

A plugin for pytest. As with the other measurements the exit status says whether all could be tried, not what came out;
the verdict is for people, and for programs in ``var/faults/results.json``.
"""

import ast
import json
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter

RESULTS = Path("var/faults/results.json")
WIDTH = 100


@dataclass(frozen=True)
class Row:
    """The scenarios of one file."""

    file: str
    title: str
    held: int
    broken: int
    skipped: int
    #: Those that could not be tried: what they need failed.
    untried: int

    @property
    def verdict(self) -> str:
        if self.broken:
            return "missed"
        if self.untried:
            return "not measured"
        return "ok" if self.held else "skipped"

    def __str__(self) -> str:
        tried = self.held + self.broken + self.untried
        title = textwrap.shorten(self.title, WIDTH, placeholder=" ...")
        note = f" ({self.skipped} skipped)" if self.skipped else ""
        return f"{title:{WIDTH}} {self.held:5}  {tried:4}  {self.verdict}{note}"


def rows(terminalreporter: TerminalReporter) -> list[Row]:
    """Return a row for each file, in the order of their names."""
    outcomes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for outcome in ("passed", "skipped", "failed", "error"):  # an error of its tear-down outdoes that a test passed
        for report in terminalreporter.stats.get(outcome, []):
            file, _, name = report.nodeid.partition("::")
            outcomes[file][name] = outcome
    return [
        Row(file, _title(file), counts["passed"], counts["failed"], counts["skipped"], counts["error"])
        for file, counts in sorted((file, Counter(found.values())) for file, found in outcomes.items())
    ]


def _title(file: str) -> str:
    """Return what the file says that it is about."""
    said = ast.get_docstring(ast.parse(Path(file).read_text())) or file
    return said.splitlines()[0].removesuffix(".")


def _verdict(found: list[Row]) -> Iterator[str]:
    yield f"{'scenarios':{WIDTH}} {'held':>5}  goal"
    yield from map(str, found)
    yield ""
    broken, untried = sum(row.broken for row in found), sum(row.untried for row in found)
    if broken or untried:
        yield f"VERDICT: {broken} scenarios broke a promise, {untried} could not be tried."
    else:
        yield f"VERDICT: clean. All {sum(row.held for row in found)} scenarios held."


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    found = rows(terminalreporter)
    terminalreporter.section("faults")
    for line in _verdict(found):
        terminalreporter.line(line)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(row) | {"verdict": row.verdict} for row in found], indent=1))
    terminalreporter.line(f"The same as JSON is in {RESULTS}.")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == pytest.ExitCode.TESTS_FAILED and reporter and not reporter.stats.get("error"):
        session.exitstatus = pytest.ExitCode.OK
