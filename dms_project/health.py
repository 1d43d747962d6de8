"""``/readyz``: the process can serve, or which part it lacks. (``/healthz``, that it lives, is in wsgi.py.)

The body holds words only: no addresses, no versions, no errors. Those are in the log.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence

from django.db import connection, connections
from django.http import HttpRequest, HttpResponse, JsonResponse

from dms_project.tenancy import PUBLIC
from dms_project.tenancy.exceptions import reason
from dms_project.tenancy.rollout import plan_rollout
from documents.storage import object_store

logger = logging.getLogger(__name__)

READY = "/readyz"
DEADLINE_SECONDS = 2.0  # for the answer of /readyz, whatever hangs
FRESH_SECONDS = 1.0  # a result so young is given to the next caller too, so that many probes cost no more than one

Report = dict[str, str]


class ReadinessMiddleware:
    """Answer before any other middleware: on any host, with no tenant, session or redirect."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == READY:
            report = _readiness()
            if set(report.values()) == {"ok"}:
                return _answer(200, {"status": "ok"} | report)
            return _answer(503, {"status": "unavailable"} | report)
        return self.get_response(request)


def _answer(status: int, body: Report) -> HttpResponse:
    response = JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
    response["Content-Length"] = str(len(response.content))
    return response


class BoundedCheck:
    """A check in a thread of its own, which may hang without taking the caller, or a second thread, with it."""

    def __init__(self, parts: Sequence[str], check: Callable[[], Report]) -> None:
        """``check`` answers for all ``parts``; what it raises, or its silence, makes each of them ``down``."""
        self._down = dict.fromkeys(parts, "down")
        self._check = check
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._report = self._down
        self._finished_at = 0.0

    def begin(self) -> None:
        """Start a new round, unless one is under way or has just ended."""
        with self._lock:
            under_way = self._thread is not None and self._thread.is_alive()
            if not under_way and time.monotonic() - self._finished_at > FRESH_SECONDS:
                self._thread = threading.Thread(target=self._run, name="readyz", daemon=True)
                self._thread.start()

    def report(self, deadline: float) -> Report:
        """Return the round's outcome, or ``down`` for each part if it hasn't ended by ``deadline``."""
        thread = self._thread
        if thread is not None:
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                return self._down
        return self._report

    def _run(self) -> None:
        try:
            self._report = self._check()
        except Exception as error:  # noqa: BLE001 - whatever it is, the part can't serve
            logger.warning("not ready: %s: %s", ", ".join(self._down), reason(error))
            self._report = self._down
        finally:
            self._finished_at = time.monotonic()
            connections.close_all()


def _database() -> Report:
    connection.ensure_connection()
    report = {"database": "ok", "migrations": "ok"}
    steps = plan_rollout(connection)
    behind = [step.schema_name for step in steps if step.is_due]
    if behind:
        logger.warning(
            "migrations are pending in %s of %s schemas: see `manage.py showmigrations`", len(behind), len(steps)
        )
    # One tenant that is behind, or has no schema, must not take the others out of service.
    if PUBLIC in behind or len(behind) == len(steps):
        report["migrations"] = "pending"
    return report


def _storage() -> Report:
    object_store().check()
    return {"storage": "ok"}


_checks = (BoundedCheck(["database", "migrations"], _database), BoundedCheck(["storage"], _storage))


def _readiness() -> Report:
    deadline = time.monotonic() + DEADLINE_SECONDS
    for check in _checks:
        check.begin()
    return {part: state for check in _checks for part, state in check.report(deadline).items()}
