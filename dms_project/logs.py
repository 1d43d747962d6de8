"""What a line of the log looks like: for people, or as JSON for programs; docs/reference/logs.md lists the fields.

One record is one line, whoever logs it (a traceback for people is the exception). ``settings.LOGGING`` puts the parts
together.
"""

from __future__ import annotations

import logging
import re
import secrets
import sys
import threading
import time
from contextvars import ContextVar
from logging.config import dictConfig
from types import TracebackType
from typing import Any

from django.db.utils import Error, InterfaceError, OperationalError
from pythonjsonlogger.json import JsonFormatter as _JsonFormatter

from dms_project.tenancy.context import current
from dms_project.tenancy.exceptions import reason
from dms_project.tenancy.names import PUBLIC
from jobqueue.running_job import running_job

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

OUTAGES = (OperationalError, InterfaceError)

#: Attributes of a record that are written. Whatever else a library adds (Django: the whole request) may hold secrets.
FIELDS = (
    "event",
    *("tenant", "job_id", "job_type", "attempt", "queue_name", "worker", "status", "error_type", "jobs"),
    *("request_id", "host", "method", "path", "status_code", "bytes"),
    "seconds",
)
#: Those that tell people what a line is about, by the word that stands in the line.
_ABOUT = {"tenant": "tenant", "job_id": "job", "request_id": "request"}

#: Of the request that this thread serves, or empty.
request_id: ContextVar[str] = ContextVar("dms_project.logs.request_id", default="")


def begin_request(environ: dict[str, Any]) -> str:
    """Give a request an id, which all its lines carry: the one that the proxy in front gave it, or a new one."""
    given = str(environ.get("HTTP_X_REQUEST_ID", ""))
    chosen = given if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", given) else secrets.token_hex(8)
    request_id.set(chosen)
    return chosen


# --- How a record is written ------------------------------------------------------------------------------------------

# What a client or a document says must not begin a line, nor steer a terminal, nor turn the direction of writing.
_STEERING = [*range(32), *range(127, 160), 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
_CONTROLS = {code: ascii(chr(code))[1:-1] for code in _STEERING}
_ON_ONE_LINE = str.maketrans(_CONTROLS)
_ON_MANY_LINES = str.maketrans({code: escaped for code, escaped in _CONTROLS.items() if chr(code) not in "\n\t"})


class _Brief(logging.Formatter):
    """Times in UTC, and database errors without their details."""

    converter = staticmethod(time.gmtime)
    default_msec_format = "%s.%03dZ"

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - the name is logging's
        return _without_details(super().formatException(ei), ei[1])


class TextFormatter(_Brief):
    """For people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the name is logging's
        line = super().formatMessage(record)
        for name, word in _ABOUT.items():
            if (value := getattr(record, name, None)) and f" {word}=" not in line:
                line += f" {word}={value}"
        return line.translate(_ON_ONE_LINE)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 - the name is logging's
        return super().formatException(ei).translate(_ON_MANY_LINES)


class JsonFormatter(_Brief, _JsonFormatter):
    """For programs; a traceback is a field of its record."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def __init__(self) -> None:
        _JsonFormatter.__init__(
            self,
            ["asctime", "levelname", "name", "message", "process", *FIELDS],
            rename_fields={"asctime": "time", "levelname": "level", "name": "logger", "exc_info": "exception"},
        )

    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        known = {"time", "level", "logger", "message", "process", "exception", *FIELDS}
        return {name: value for name, value in log_data.items() if name in known and value is not None}


def _without_details(traceback: str, error: BaseException | None) -> str:
    """Cut each database error in a traceback to its first line: the others quote rows and parameters."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, Error):  # Django's, with the driver's own as its cause and the same text
            traceback = traceback.replace(str(error).rstrip(), reason(error))
        error = error.__cause__ or error.__context__
    return traceback


# --- What a record is given, and what it loses ------------------------------------------------------------------------


class ContextFilter(logging.Filter):
    """Say for whom the process works while it logs, unless the record says so itself."""

    def filter(self, record: logging.LogRecord) -> bool:
        tenant = current()
        if tenant != PUBLIC and not hasattr(record, "tenant"):
            record.tenant = tenant
        job = running_job.get()
        if job is not None and not hasattr(record, "job_id"):
            record.job_id, record.job_type, record.attempt = job.pk, job.job_type, job.attempts
            record.queue_name = job.queue_name
        if request_id.get() and not hasattr(record, "request_id"):
            record.request_id = request_id.get()
        return True


class OutageFilter(logging.Filter):
    """Shorten an outage's traceback to its first line."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        if isinstance(error, OUTAGES):
            # Django calls it an internal server error; it is answered 503, as OutageMiddleware sees to.
            said = record.getMessage().replace("Internal Server Error", "503")
            record.msg = f"{said}: {reason(error)}"
            record.args = ()
            record.exc_info = record.exc_text = None
        return True


class ExceptionFilter(logging.Filter):
    """Let those pass that tell of an exception."""

    def filter(self, record: logging.LogRecord) -> bool:
        return bool(record.exc_info)


# --- Setting it up ----------------------------------------------------------------------------------------------------


def configure(logging_settings: dict[str, Any]) -> None:
    """Set logging up, as ``settings.LOGGING_CONFIG``. In JSON, what Python itself would print becomes a record, too."""
    dictConfig(logging_settings)
    if logging_settings["handlers"]["stderr"]["formatter"] == "json":
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = lambda args: _log_uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt | SystemExit):
        return
    logging.getLogger(__name__).critical("uncaught %s", kind.__name__, exc_info=error or kind())
