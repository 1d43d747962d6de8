"""How pytest-xdist spreads the tests over its processes, each of which has a database of its own.

A file stays in one process, and so do the files that share something costly: a browser, a running system. What takes
longest is dealt out first, so that no process is left with it at the end.
"""

import gc
import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

# What its tests share, by the beginning of their path.
SHARED = {
    "tests/house/test_health.py": "a running system",
    "tests/house/test_metrics.py": "a running system",
    "tests/house/test_production.py": "a running system",
    "tests/house/test_run.py": "a running system",
    "tests/pages/": "a browser",
}
LONGEST = (
    "a browser",
    "tests/house/test_test_environment.py",
    "tests/tenancy/test_migrate.py",
    "a running system",
    "tests/house/test_gates.py",
    "tests/house/test_secrets.py",
    "tests/tenancy/test_switching.py",
)
MOST = 6  # processes: they share a server with 200 connections, and the longest unit is no shorter for more of them


def unit(nodeid: str) -> str:
    """Name what has to run in one process with this test."""
    return next((shared for start, shared in SHARED.items() if nodeid.startswith(start)), nodeid.partition("::")[0])


def tell_apart(items: Sequence[pytest.Item]) -> None:
    """Give tests that share an id ids of their own: of such tests several processes would run only one.

    Raises:
        UsageError: They share their name as well.
    """
    times = Counter(item.nodeid for item in items)
    for item in items:
        if times[item.nodeid] > 1:
            # Schemathesis has what a test calls in its name alone. Private, but nothing public sets an id.
            item._id = item.parent.id.child(item.name)
    [(nodeid, most)] = Counter(item.nodeid for item in items).most_common(1) or [("", 0)]
    if most > 1:
        raise pytest.UsageError(f"{most} tests are called {nodeid}: rename them, several processes would run only one")


class ByUnit(LoadScopeScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByUnit:
    config.option.loadscopereorder = False  # it knows how many tests a unit has, not how long they take
    return ByUnit(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than the processors, since many a test waits for the programs that it started."""
    return min((os.cpu_count() or 1) + 1, MOST)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep the collector from looking through all that was collected again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tell_apart(items)
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(unit(item.nodeid), len(places)))
