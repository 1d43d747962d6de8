"""The folders in which text is recognised: none is left behind for long, and none is taken from under anybody."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from documents.processing.workplace import PREFIX, workplace


def test_a_killed_workers_folder_goes_with_the_next_and_a_living_ones_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    program = (
        "import os, tempfile; tempfile.tempdir = os.environ['PLACE']\n"
        "from documents.processing.workplace import workplace\n"
        "with workplace() as folder:\n"
        "    (folder / 'page.png').touch()\n"
        "    os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program], env=os.environ | {"PLACE": str(place)}, check=False)
    [killed] = place.glob(f"{PREFIX}*")
    os.utime(killed, (time.time() + 3600,) * 2)
    with workplace() as living:
        assert killed.is_dir()  # so young that its worker may not have locked it yet
        for folder in (killed, living):
            os.utime(folder, (0, 0))
        with workplace() as next_one:
            assert set(place.iterdir()) == {living, next_one}
    assert list(place.iterdir()) == []
