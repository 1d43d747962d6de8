"""The file by which a probe tells that a worker's process is at work."""

import logging
import os
from pathlib import Path

import pytest

from jobqueue.worker import health_file
from jobqueue.worker.health_file import HealthFile
from tests.jobqueue.conftest import Start


def test_it_is_made_and_kept_young(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "alive"
    file = HealthFile(path)
    file.touch()
    os.utime(path, (0, 0))
    file.touch()
    assert path.stat().st_mtime == 0  # not yet
    monkeypatch.setattr(health_file, "TOUCH_SECONDS", 0)
    file.touch()
    assert path.stat().st_mtime > 0


def test_one_that_cant_be_written_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(health_file, "TOUCH_SECONDS", 0)
    file = HealthFile(tmp_path / "missing" / "alive")
    with caplog.at_level(logging.WARNING, "jobqueue.worker"):
        file.touch()
        file.touch()
    assert [record.message.partition(":")[0] for record in caplog.records] == ["the health file can't be written"]


def test_a_worker_touches_it(start: Start, tmp_path: Path) -> None:
    worker = start("--drain", "--health-file", str(tmp_path / "alive"))
    assert worker.status() == 0
    assert (tmp_path / "alive").exists()
