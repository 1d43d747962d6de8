"""Small disks, to fill, to take away and to make read-only."""

import shutil
import subprocess
from pathlib import Path

import pytest


def mount(folder: Path, size: str = "3m") -> None:
    """Mount an empty disk of this size on a folder, or skip the test where that is not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small disk takes root and a kernel that lets it")


def remount(folder: Path, option: str) -> None:
    """Mount a disk again with an option, such as ``ro``."""
    subprocess.run(["mount", "-o", f"remount,{option}", folder], check=True)


def unmount(folder: Path) -> None:
    """Take the disk away, if there is one, also from those who use it."""
    subprocess.run(["umount", "--lazy", folder], check=False, capture_output=True)
