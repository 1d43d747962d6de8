"""Fixtures of the house: a copy of the tree, and one running system that the end-to-end tests share."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.postgres_home import lay_out
from tests.house.clone import Run, copy_tree


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return copy_tree(tmp_path / "clone")


@pytest.fixture(scope="session")
def pristine_clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy for tests that write nothing into it."""
    return copy_tree(tmp_path_factory.mktemp("pristine") / "clone")


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """``make run`` in a fresh copy, ready to serve."""
    run = Run(copy_tree(tmp_path_factory.mktemp("run") / "clone"))
    try:
        run.wait_for(r"^operators ")
        yield run
    finally:
        alive = run.stop()
        shutil.rmtree(run.clone)
        lay_out(run.clone / "var/postgres").remove()
        assert alive == []
