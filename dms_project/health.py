"""``/readyz``: the process can serve, or which part it lacks. (``/healthz``, that it lives, is in wsgi.py.)

The body holds words only: no addresses, no versions, no errors. Those are in the log.
"""

import logging
import time
from collections.abc import Callable

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from dms_project.bounded_check import BoundedCheck
from dms_project.tenancy import PUBLIC
from dms_project.tenancy.exceptions import reason
from dms_project.tenancy.rollout import plan_rollout
from documents.exceptions import OutageReason, StorageUnavailable
from documents.storage import object_store

logger = logging.getLogger(__name__)

READY = "/readyz"
DEADLINE_SECONDS = 2.0  # for the answer of /readyz, whatever hangs

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
    try:
        object_store().check()
    except StorageUnavailable as error:
        logger.warning("not ready: storage: %s", error)
        return {"storage": "down", "storage_reason": error.reason.value}
    return {"storage": "ok"}


def _check_of(check: Callable[[], Report], otherwise: Report) -> BoundedCheck[Report]:
    def say(error: Exception) -> None:
        logger.warning("not ready: %s: %s", ", ".join(otherwise), reason(error))

    return BoundedCheck("readyz", check, say, otherwise)


_checks = (
    _check_of(_database, {"database": "down", "migrations": "down"}),
    _check_of(_storage, {"storage": "down", "storage_reason": OutageReason.NO_ANSWER.value}),
)


def _readiness() -> Report:
    deadline = time.monotonic() + DEADLINE_SECONDS
    for check in _checks:
        check.begin()
    return {part: state for check in _checks for part, state in check.answer(deadline).items()}
