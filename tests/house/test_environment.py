"""A missing or malformed variable stops the start with one line that names it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.clone import clean_environment

ROOT = Path(__file__).resolve().parents[2]
GOOD = {
    "DATABASE_URL": "postgresql://somebody:secret@%2fnonexistent/none",
    "DJANGO_SECRET_KEY": "a-key-for-a-test-0123456789-abcdefghijklmnopqrstuvwxyz",
}
BAD = {
    "DATABASE_URL missing": ("DATABASE_URL", None),
    "DATABASE_URL of another database": ("DATABASE_URL", "mysql://somebody:secret@host/name"),
    "DATABASE_URL with a bad port": ("DATABASE_URL", "postgresql://somebody:secret@host:port/name"),
    "DJANGO_SECRET_KEY missing": ("DJANGO_SECRET_KEY", None),
    "DJANGO_SECRET_KEY too short": ("DJANGO_SECRET_KEY", "secret"),
    "DJANGO_DEBUG": ("DJANGO_DEBUG", "perhaps"),
    "DMS_MAX_UPLOAD_BYTES": ("DMS_MAX_UPLOAD_BYTES", "2 GB"),
    "DMS_LOG_LEVEL": ("DMS_LOG_LEVEL", "LOUD"),
    "DMS_LOG_FORMAT": ("DMS_LOG_FORMAT", "xml"),
    "DMS_METRICS_TOKEN": ("DMS_METRICS_TOKEN", "short"),
    "DMS_WEB_THREADS": ("DMS_WEB_THREADS", "1"),
    "DMS_S3_ENDPOINT_URL": ("DMS_S3_ENDPOINT_URL", "s3.example.org"),
    "AWS_SECRET_ACCESS_KEY missing": ("AWS_SECRET_ACCESS_KEY", None),
}
PROGRAMS = {
    "manage.py": ["manage.py", "check"],
    "web": ["-m", "gunicorn", "-c", "python:dms_project.gunicorn_conf", "dms_project.wsgi"],
}


def start(program: str, clone: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *PROGRAMS[program]]
    return subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("case", BAD)
def test_one_line_names_the_variable(case: str, program: str, pristine_clone: Path) -> None:
    name, value = BAD[case]
    environment = clean_environment(**GOOD, DMS_S3_BUCKET="bucket", AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s")
    environment.pop(name, None)
    if value is not None:
        environment[name] = value

    result = start(program, pristine_clone, environment)

    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert name in line
    assert "secret@" not in line


def test_a_port_that_is_none_stops_the_web_server_in_one_line(pristine_clone: Path) -> None:
    result = start("web", pristine_clone, clean_environment(**GOOD, PORT="http"))

    assert result.returncode == 1
    assert "PORT" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_who_has_read_enough_of_an_output_gets_no_traceback() -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "help"],
        cwd=ROOT,
        env=clean_environment(**GOOD),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as command:
        assert command.stdout
        assert command.stderr
        command.stdout.close()
        said = command.stderr.read()
    assert (command.returncode, said) == (1, b"")
