"""The queue as a wheel of its own, in a project that has nothing else of this repository."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.jobqueue.workers import ROOT

QUEUE = ROOT / "jobqueue"
NOT_IN_IT = {"pyproject.toml", "README.md", "LICENSE"}

# Its models load its tasks, before the models of the queue are there.
PROJECT = {
    "__init__.py": "",
    "models.py": "from shop import tasks\n",
    "jobs.py": "from jobqueue.handlers import job_handler\n\n@job_handler('shop.pack')\ndef pack(context): ...\n",
    "tasks.py": """
import django
if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task

@task(max_attempts=8)
def send(order): ...
""",
}
TRY = """
import importlib, pkgutil, sys
from django.conf import settings
settings.configure(
    INSTALLED_APPS=["shop", *(f"django.contrib.{app}" for app in ("contenttypes", "auth", "admin")), "jobqueue"],
    DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "none"}},
    TASKS={"default": {"BACKEND": "jobqueue.backend.PostgresBackend"}},
)
import django
django.setup()
import jobqueue
from django.core.checks import run_checks
from jobqueue.handlers import registered
names = [module.name for module in pkgutil.walk_packages(jobqueue.__path__, "jobqueue.")]
for name in names:
    if name not in ("jobqueue.testing.plugin", "jobqueue.worker.isolated_child") and ".migrations" not in name:
        importlib.import_module(name)
print(jobqueue.__file__)
print(*[error for error in run_checks() if error.id.startswith("jobqueue")])
print(*sorted(registered()))
loaded = {name.partition(".")[0] for name in sys.modules}
print(*sorted(loaded & {"documents", "dms_project", "tests", "pytest", "dotenv", "psutil", "boto3"}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=QUEUE, check=True, capture_output=True, timeout=60)
    (wheel,) = folder.iterdir()
    return wheel


def test_the_wheel_has_every_file_of_the_queue_and_no_other(wheel: Path) -> None:
    files = {
        f"jobqueue/{path.relative_to(QUEUE)}"
        for path in QUEUE.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and str(path.relative_to(QUEUE)) not in NOT_IN_IT
    }
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]

    assert {name for name in names if ".dist-info/" not in name} == files
    assert "jobqueue/py.typed" in names
    required = [line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist")]
    assert [requirement for requirement in required if "extra ==" not in requirement] == ["django>=5.2", "psycopg>=3.2"]
    assert "License-File: LICENSE" in metadata
    assert "# jobqueue: a job queue for Django" in metadata


def test_a_project_that_has_the_wheel_alone_finds_its_handlers_and_tasks(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "shop").mkdir()
    for name, text in PROJECT.items():
        (tmp_path / "shop" / name).write_text(text)

    tried = subprocess.run(
        [sys.executable, "-c", TRY],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert tried.returncode == 0, tried.stderr
    where, errors, registered, foreign = tried.stdout.splitlines()
    assert where == str(tmp_path / "site" / "jobqueue" / "__init__.py")
    assert errors == ""
    assert registered == "shop.pack shop.tasks.send"
    assert foreign == ""
