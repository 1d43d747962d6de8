"""One record is one line, for people and for programs, and says nothing that it shouldn't."""

from __future__ import annotations

import json
import logging
import sys
from contextvars import copy_context
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError

from dms_project import logs
from dms_project.access_log import AccessLog
from dms_project.operators import banner
from dms_project.tenancy import use
from jobqueue.models import ProcessingJob
from jobqueue.running_job import running_job

OUTAGE = OperationalError("the server closed the connection")


def written(formatter: logging.Formatter, message: str, exc_info: Any = None, **extra: Any) -> str:
    """Return what stands in the log when this is logged."""
    record = logging.getLogger("somebody").makeRecord(
        "somebody", logging.INFO, __file__, 1, message, (), exc_info, extra=extra
    )
    logs.ContextFilter().filter(record)
    return formatter.format(record)


def test_an_outage_is_one_line_with_the_status_that_was_answered() -> None:
    record = logging.getLogger("django.request").makeRecord(
        "django.request", logging.ERROR, __file__, 1, "%s: %s", ("Internal Server Error", "/"), raised(OUTAGE)
    )
    assert logs.OutageFilter().filter(record)
    assert written(logging.Formatter(), record.getMessage()) == "503: /: the server closed the connection"


def as_json(message: str, exc_info: Any = None, **extra: Any) -> dict[str, Any]:
    (line,) = written(logs.JsonFormatter(), message, exc_info, **extra).splitlines()
    decoded: dict[str, Any] = json.loads(line)
    return decoded


def raised(error: Exception) -> Any:
    try:
        raise error
    except type(error):
        return sys.exc_info()


def test_people_read_when_how_bad_who_and_what() -> None:
    line = written(logs.TextFormatter(), "the printer is on fire")
    when, rest = line[:24], line[24:]
    assert when[10] == " "
    assert when.endswith("Z")
    assert rest == " INFO somebody the printer is on fire"


def test_programs_read_the_same_as_fields() -> None:
    line = as_json("done", event="succeeded", job_id=7, seconds=0.5)
    assert line.pop("time").endswith("Z")
    assert line.pop("process")
    assert line == {
        "level": "INFO", "logger": "somebody", "message": "done", "event": "succeeded", "job_id": 7, "seconds": 0.5
    }  # fmt: skip


def test_a_handlers_own_lines_say_which_job_they_belong_to() -> None:
    def log() -> tuple[str, dict[str, Any]]:
        running_job.set(ProcessingJob(id=7, job_type="documents.process", attempts=2, queue_name="slow"))
        return written(logs.TextFormatter(), "page 3 read"), as_json("page 3 read")

    for_people, for_programs = copy_context().run(log)

    assert for_people.endswith(" page 3 read job=7")
    fields = {name: for_programs[name] for name in ("job_id", "job_type", "attempt", "queue_name")}
    assert fields == {"job_id": 7, "job_type": "documents.process", "attempt": 2, "queue_name": "slow"}


def test_a_traceback_is_a_field_of_its_record() -> None:
    line = as_json("failed", raised(ValueError("first\nsecond")))
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: first\nsecond")


@pytest.mark.parametrize("control", ["\n", "\r", "\x1b[31m", "\x00", "\x85", "\u2028", "\u202e"])
def test_what_a_client_says_neither_begins_a_line_nor_steers_the_terminal(control: str) -> None:
    line = written(logs.TextFormatter(), f"GET /x{control}2026 CRITICAL all is lost")
    assert len(line.splitlines()) == 1
    assert control not in line
    assert "GET /x\\" in line
    assert as_json(f"x{control}y")["message"] == f"x{control}y"


def test_an_exceptions_text_steers_no_terminal_either() -> None:
    assert "\x1b" not in written(logs.TextFormatter(), "failed", raised(ValueError("\x1b[2J")))


@pytest.mark.django_db
def test_lines_say_for_which_tenant_and_request_they_were_written() -> None:
    environ = {"HTTP_X_REQUEST_ID": "from-the-proxy.1"}
    try:
        assert logs.begin_request(environ) == "from-the-proxy.1"
        with use("acme"):
            assert written(logs.TextFormatter(), "here").endswith(" here tenant=acme request=from-the-proxy.1")
            assert as_json("here")["tenant"] == "acme"
            assert as_json("there", tenant="globex")["tenant"] == "globex"
            assert written(logs.TextFormatter(), "job=1 tenant=acme done").count("acme") == 1
    finally:
        logs.request_id.set("")
    assert written(logs.TextFormatter(), "later").endswith("somebody later")


@pytest.mark.parametrize("forged", ["", "a b", "x" * 65, "ü", "a\n"])
def test_a_request_id_that_is_none_is_replaced(forged: str) -> None:
    try:
        assert len(logs.begin_request({"HTTP_X_REQUEST_ID": forged})) == 16
    finally:
        logs.request_id.set("")


def test_what_libraries_add_to_a_record_is_not_written() -> None:
    assert "query" not in json.dumps(as_json("404", request="<WSGIRequest: GET '/?q=query'>", headers={"a": "query"}))


@pytest.mark.parametrize("formatter", [logs.TextFormatter(), logs.JsonFormatter()])
def test_a_database_error_is_told_without_the_rows_it_quotes(formatter: logging.Formatter) -> None:
    error = DatabaseError("duplicate key value violates \"x\"\nDETAIL:  Key (title)=(row) exists.\nLINE 1: ... 'row'")
    try:
        try:
            raise error
        except DatabaseError as cause:
            raise RuntimeError("not stored") from cause
    except RuntimeError:
        text = written(formatter, "failed", sys.exc_info())
    assert "duplicate key value violates" in text
    assert "not stored" in text
    assert "DETAIL" not in text
    assert "'row'" not in text


@pytest.mark.parametrize("quoted", ["Invalid HTTP request line: 'GET /?token=x'", "Invalid HTTP Header: 'bearer x'"])
def test_of_a_request_that_is_no_http_the_fault_is_named_and_nothing_quoted(
    quoted: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = AccessLog.__new__(AccessLog)
    log.error_log = logging.getLogger("gunicorn.error")
    caplog.set_level("INFO")
    raised_by_gunicorn = raised(ValueError(quoted))
    try:
        raise raised_by_gunicorn[1]
    except ValueError:
        log.warning(f"Invalid request from ip=127.0.0.1: {quoted}")
    log.exception("Error handling request %s %s", "GET", "/x?token=x")
    assert caplog.messages == ["Invalid request from ip=127.0.0.1: ValueError", "Error handling request GET /x"]


def test_the_banner_names_places_and_no_passwords(
    settings: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = {"NAME": "dms", "HOST": "db.example.org", "PORT": 5432, "USER": "app", "PASSWORD": "hush"}
    for name, value in database.items():
        monkeypatch.setitem(settings.DATABASES["default"], name, value)
    s3 = {"bucket_name": "papers", "endpoint_url": "https://key:hush@s3.example.org:9000/x", "secret_key": "hush"}
    settings.STORAGES = {"documents": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": s3}}
    caplog.set_level("INFO")

    banner.announce_places()

    (line,) = caplog.messages
    assert line.startswith(
        "database: dms on db.example.org:5432 as app, documents: bucket papers on s3.example.org:9000"
    )
    assert "hush" not in line
