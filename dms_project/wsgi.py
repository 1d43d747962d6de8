"""What the web server loads. ``/healthz`` is answered here: from the first moment, and whatever else is down."""

import logging
import os
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from django.conf import settings

from dms_project.charsets import drop_unknown_charset
from dms_project.env import one_line_errors
from dms_project.logs import begin_request
from dms_project.thread_reserve import ThreadReserve

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")

LIVE = "/healthz"
PROBES = ("/readyz", "/metrics")  # answered in bounded time, whatever hangs
PROBE_THREADS = 4
LIST_THREADS = 2  # of the rest: for what moves no file
BOOT_FAILED = 3  # gunicorn's status for "don't start this worker again"


class LoadingDjango:
    """Django's application. Loading takes a second or two, so a thread does it, and the first requests wait."""

    def __init__(self) -> None:
        self._loading = threading.Thread(target=self._load, name="load Django", daemon=True)
        self._loading.start()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self._loading.join()
        drop_unknown_charset(environ)
        return self._application(environ, start_response)

    def _load(self) -> None:
        try:
            from django.core.wsgi import get_wsgi_application

            self._application = get_wsgi_application()
            import_module(settings.ROOT_URLCONF)
        except BaseException:  # a process without its code can't serve, whatever the reason
            logging.getLogger(__name__).critical("the application can't be loaded", exc_info=True)
            os._exit(BOOT_FAILED)


def moves_a_file(environ: dict[str, Any]) -> bool:
    """Say whether a request waits for the storage, or sends a file that has to be received first."""
    path = environ.get("PATH_INFO", "")
    is_upload = path == "/api/documents" and environ.get("REQUEST_METHOD") == "POST"
    return is_upload or path.endswith(("/download", "/thumbnail"))


def busy(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Refuse a request since every thread that isn't kept for probes is taken."""
    from django.core.handlers.wsgi import WSGIRequest  # not before the process can say that it lives

    from dms_project.refusals import BUSY, refuse

    drop_unknown_charset(environ)
    response = refuse(WSGIRequest(environ), BUSY)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [response.content]


with one_line_errors():
    places = settings.DMS_WEB_THREADS - PROBE_THREADS
    _any = ThreadReserve(
        LoadingDjango(), places, refuse=busy, needs_a_place=lambda environ: environ.get("PATH_INFO") not in PROBES
    )
    # Asked first, so that those whom it refuses are in nobody's way: while the storage hangs, or slow clients send
    # large files, the lists are served all the same.
    _django = ThreadReserve(_any, max(1, places - LIST_THREADS), refuse=busy, needs_a_place=moves_a_file)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Say that the process lives, with no database, tenant, session or redirect; leave the rest to Django.

    Each answer says in ``X-Request-ID`` under which id the log tells about it.
    """
    request_id = begin_request(environ)

    def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
        return start_response(status, [*headers, ("X-Request-ID", request_id)], *more)

    answer = alive(start) if environ.get("PATH_INFO") == LIVE else _django(environ, start)
    return _without_body(answer) if environ.get("REQUEST_METHOD") == "HEAD" else answer


def alive(start_response: Any) -> Iterable[bytes]:
    """Say that the process lives."""
    body = b'{"status": "ok"}'
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


def _without_body(answer: Iterable[bytes]) -> Iterable[bytes]:
    """Keep the headers alone, as HEAD has it: the web server would drop the body, too, but warn of each."""
    close = getattr(answer, "close", None)
    if close is not None:
        close()
    return []
