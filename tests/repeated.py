"""Repeats a test that failed while this machine stood still, which says nothing about what is tested.

Many tests give a worker a second to prove that it lives, or watch who comes first. If a host takes its processors away
for longer, the worker is rightly given up. So such a test is run again, and the summary names it; one that fails while
nothing stood still has failed.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.runner import runtestprotocol  # private, but what each plugin that repeats tests uses

from tests.stopwatch import Stopwatch

#: At a time. What a busy machine makes everybody wait is far less.
STANDSTILL_SECONDS = 1.0
MOST = 3
_OUTCOME = "repeated"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    where = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**where)
    for number in range(1, MOST + 1):
        with Stopwatch() as watch:
            reports = runtestprotocol(item, log=False, nextitem=nextitem)
            longest = watch.longest_standstill
        failed = next((report for report in reports if report.failed), None)
        if failed is None or longest < STANDSTILL_SECONDS or number == MOST:
            break
        failed.outcome = _OUTCOME  # type: ignore[assignment]  # one of our own, as the hook below knows
        failed.user_properties = [("stood still", longest)]
        item.ihook.pytest_runtest_logreport(report=failed)
        item._initrequest()  # type: ignore[attr-defined]  # private: fixtures are made anew
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**where)
    return True


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return (_OUTCOME, "R", "REPEATED") if report.outcome == _OUTCOME else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for report in terminalreporter.stats.get(_OUTCOME, []):
        [(_, seconds)] = report.user_properties
        terminalreporter.write_line(
            f"REPEATED {report.nodeid}: it failed while this machine stood still for {seconds:.1f} s"
        )
