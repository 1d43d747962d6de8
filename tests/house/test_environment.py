"""A missing or malformed variable stops the start with one line that names it."""

import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from dms_project.environment import Environment, InvalidEnvironment
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


READ: list[tuple[Callable[[Environment], object], str | None, object]] = [
    (lambda env: env.boolean("V", False), None, False),
    (lambda env: env.boolean("V", False), "True", True),
    (lambda env: env.boolean("V", True), "off", False),
    (lambda env: env.integer("V", 5, least=1), None, 5),
    (lambda env: env.integer("V", 5, least=1), " 7 ", 7),
    (lambda env: env.integer("V", 5, least=1, most=9), "9", 9),
    (lambda env: env.text("V", least=3), "abc", "abc"),
    (lambda env: env.text("V", "", least=3), None, ""),
    (lambda env: env.choice("V", "b", ["a", "b"]), None, "b"),
    (lambda env: env.matching("V", "", "a*", "some a"), "aa", "aa"),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), None, timedelta(1)),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "90", timedelta(seconds=90)),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "1h 30m", timedelta(minutes=90)),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "2w3d", timedelta(days=17)),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "250 ms", timedelta(milliseconds=250)),
    (lambda env: env.url("V"), None, None),
    (lambda env: env.url("V"), "http://127.0.0.1:9000/path", "http://127.0.0.1:9000/path"),
    (lambda env: env.database("V")["HOST"], "postgresql://u:p@%2frun%2fpg/n", "/run/pg"),
    (lambda env: env.database("V")["OPTIONS"], "postgres://h/n?sslmode=verify-full", {"sslmode": "verify-full"}),
]
REFUSED: list[tuple[Callable[[Environment], object], str | None, str]] = [
    (lambda env: env.boolean("V", False), "", "must be true or false"),
    (lambda env: env.boolean("V", False), "secret", "must be true or false"),
    (lambda env: env.integer("V", 5, least=1), "", "must be a whole number, 1 or more"),
    (lambda env: env.integer("V", 5, least=1), "1.5", "must be a whole number, 1 or more"),
    (lambda env: env.integer("V", 5, least=1), "0", "must be 1 or more"),
    (lambda env: env.integer("V", 5, least=1, most=9), "10", "must be between 1 and 9"),
    (lambda env: env.text("V"), None, "is not set"),
    (lambda env: env.text("V", "default", least=9), "secret", "must have at least 9 characters"),
    (lambda env: env.choice("V", "b", ["a", "b"]), "secret", "must be one of: a, b"),
    (lambda env: env.matching("V", "", "a*", "some a"), "a secret", "must be some a"),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "", "must be a duration, such as"),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "secret", "must be a duration, such as"),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "30s 1h", "must be a duration, such as"),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "1.5h", "must be a duration, such as"),
    (lambda env: env.duration("V", timedelta(1), least=timedelta(0)), "-1", "must be a duration of at least 0 s"),
    (lambda env: env.url("V"), "", "must be a URL"),
    (lambda env: env.url("V"), "secret.example.org", "must be a URL"),
    (lambda env: env.url("V"), "ftp://secret", "must be a URL"),
    (lambda env: env.url("V"), "http://secret:port", "must be a URL"),
    (lambda env: env.url("V"), "http://a secret", "must be a URL"),
    (lambda env: env.database("V"), None, "is not set"),
    (lambda env: env.database("V"), "", "must be of the form postgresql://"),
    (lambda env: env.database("V"), "sqlite:///secret", "must be of the form postgresql://"),
    (lambda env: env.database("V"), "postgresql://a:secret@[b/c", "must be of the form postgresql://"),
]


@pytest.mark.parametrize(("read", "given", "expected"), READ)
def test_a_variable_is_read(
    read: Callable[[Environment], object], given: str | None, expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if given is not None:
        monkeypatch.setenv("V", given)
    assert read(Environment()) == expected


@pytest.mark.parametrize(("read", "given", "complaint"), REFUSED)
def test_what_a_variable_can_not_say_is_refused_without_saying_it(
    read: Callable[[Environment], object], given: str | None, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if given is not None:
        monkeypatch.setenv("V", given)
    with pytest.raises(InvalidEnvironment) as refused:
        read(Environment())
    assert str(refused.value).startswith(f"the environment variable V {complaint}")
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None
