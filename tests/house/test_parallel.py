"""Several processes run each test once, and what shares something costly in the same one."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.parallel import LONGEST, SHARED, tell_apart, unit


class File:
    """Stands for a test file, and for its id."""

    @property
    def id(self) -> "File":
        return self

    def child(self, name: str) -> str:
        return f"a.py::{name}"


@dataclass
class Item:
    """Of a test in that file what pytest knows about it."""

    _id: str
    name: str
    parent: File = field(default_factory=File)

    @property
    def nodeid(self) -> str:
        return self._id


def test_tests_that_share_an_id_are_told_apart_by_their_names() -> None:
    items: list[Any] = [Item("a.py::calls", "calls[GET]"), Item("a.py::calls", "calls[PUT]"), Item("a.py::one", "one")]
    tell_apart(items)
    assert [item.nodeid for item in items] == ["a.py::calls[GET]", "a.py::calls[PUT]", "a.py::one"]


def test_tests_that_can_not_be_told_apart_are_refused_by_name() -> None:
    items: list[Any] = [Item("a.py::one", "one"), Item("a.py::one", "one")]
    with pytest.raises(pytest.UsageError, match=r"2 tests are called a\.py::one:"):
        tell_apart(items)


def test_a_file_stays_together_and_so_do_files_that_share_something() -> None:
    assert unit("tests/house/test_parallel.py::one") == unit("tests/house/test_parallel.py::Class::two[x::y]")
    assert unit("tests/pages/test_day.py::one") == unit("tests/pages/test_login.py::two")
    assert unit("tests/house/test_run.py::one") != unit("tests/house/test_start.py::two")


def test_every_file_that_is_named_is_there(pytestconfig: pytest.Config) -> None:
    named = [name for name in (*SHARED, *LONGEST) if name.startswith("tests/")]
    assert [name for name in named if not (pytestconfig.rootpath / name).exists()] == []
