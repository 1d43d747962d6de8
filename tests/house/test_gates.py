"""Each gate of ``make lint`` breaks the build, with exit status 2, over a violation planted in a copy of the tree."""

import re
import shutil
from pathlib import Path

import pytest

from tests.house.clone import TREE, make

PLANTS = {
    "lint-style": ("scripts/planted.py", "import os\n", r"^scripts/planted\.py:1:8: .*F401"),
    "lint-format": ("scripts/planted.py", "x = { 'a': 1 }\n", r"^scripts/planted\.py:1:6: unformatted"),
    "lint-types": (
        "scripts/planted.py",
        "def number() -> int:\n    return 'one'\n",
        r"^scripts/planted\.py:2:12: error: .*\[return-value\]",
    ),
    "lint-architecture": (
        "jobqueue/states.py",
        "from documents import models\n",
        r"^jobqueue/states\.py:\d+: the queue knows no project: imports documents\.models",
    ),
    "lint-migrations": (
        "dms_project/tokens/models.py",
        "\n\nclass Planted(models.Model):\n    pass\n",
        r"dms_project/tokens/migrations/0002_planted\.py[\s\S]*Create model Planted",
    ),
    "lint-deploy": ("dms_project/settings.py", "SESSION_COOKIE_SECURE = False\n", r"\(security\.W012\)"),
    "lint-reference": (
        "jobqueue/exceptions.py",
        "\n\nclass Planted(JobQueueError):\n    pass\n",
        r"^docs/reference/queue\.md is not what the docstrings say: run `make reference`",
    ),
    "lint-lock": ("requirements/app.in", "left-pad>=1\n", r"^requirements/app\.in:\d+: lock: left-pad>=1"),
}


def plant(clone: Path, file: str, text: str) -> None:
    with (clone / file).open("a") as target:
        target.write(text)


@pytest.mark.parametrize("gate", PLANTS)
def test_a_planted_violation_breaks_the_gate_and_is_named(gate: str, clone: Path) -> None:
    file, text, complaint = PLANTS[gate]
    plant(clone, file, text)
    if gate == "lint-types" and (TREE / ".mypy_cache").exists():
        shutil.copytree(TREE / ".mypy_cache", clone / ".mypy_cache")  # else it reads all of Django again

    result = make(clone, gate)

    assert result.returncode == 2
    assert re.search(complaint, result.stdout + result.stderr, re.MULTILINE), result.stdout + result.stderr


def test_lint_runs_every_gate(clone: Path) -> None:
    planned = make(clone, "--dry-run", "lint").stdout

    for gate in PLANTS:
        assert make(clone, "--dry-run", gate).stdout.strip() in planned


def test_check_stops_at_a_violation_with_status_2(clone: Path) -> None:
    file, text, complaint = PLANTS["lint-style"]
    plant(clone, file, text)

    result = make(clone, "check")

    assert result.returncode == 2
    assert re.search(complaint, result.stdout, re.MULTILINE)


@pytest.mark.parametrize("package", ["dms_project", "jobqueue", "documents", "documents/processing"])
def test_a_new_module_without_a_layer_breaks_the_build(package: str, clone: Path) -> None:
    (clone / package / "planted.py").write_text('"""Has no place yet."""\n')

    result = make(clone, "lint-architecture")

    assert result.returncode == 2
    assert "planted" in result.stdout + result.stderr


def test_help_lists_the_targets_from_their_comments(clone: Path) -> None:
    listed = make(clone).stdout

    for target in ("install", "run", "check", "lint", "fmt", "test", "reset-test-env", "help"):
        assert re.search(rf"^  make {target} +\w", listed, re.MULTILINE)


def test_the_dependencies_are_installed_again_only_when_the_lock_changes(clone: Path) -> None:
    (clone / "requirements/lock.txt").touch()
    assert "Installing" not in make(clone, "install").stdout
