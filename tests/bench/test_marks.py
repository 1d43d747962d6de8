"""What the no-op handlers write."""

import os
from pathlib import Path

import pytest

from scripts.bench import marks


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(marks, "_descriptors", [])
    monkeypatch.setenv(marks.FILE, str(tmp_path / "marks"))
    return tmp_path / "marks"


def test_marks_are_read_back_in_the_order_of_time(file: Path) -> None:
    assert (marks.count(file), marks.read(file)) == (0, [])

    for number in (3, 1, 2):
        marks.mark(number)

    assert marks.count(file) == 3
    assert [mark.number for mark in marks.read(file)] == [3, 1, 2]


def test_a_process_is_a_worker_of_its_own_unless_it_is_told_another_number(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks.mark(1)
    monkeypatch.setenv(marks.WORKER, "7")
    marks.mark(2)

    assert [mark.worker for mark in marks.read(file)] == [os.getpid(), 7]


def test_a_record_that_is_only_half_there_is_left_out(file: Path) -> None:
    marks.mark(1)
    with file.open("ab") as half:
        half.write(b"half")

    assert [mark.number for mark in marks.read(file)] == [1]
