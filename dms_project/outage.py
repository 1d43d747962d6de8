"""An unreachable database is weather: 503 and one line in the log, not 500 and a traceback per request."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from django.core.signals import got_request_exception
from django.http import HttpRequest, HttpResponse

from dms_project.logs import OUTAGES
from dms_project.refusals import DATABASE_AWAY, refuse

Response = Callable[[HttpRequest], HttpResponse]


class OutageMiddleware:
    """Answer 503 where a view or an inner middleware ran into a database outage.

    An exception never reaches an outer middleware as such: Django turns it into a 500 after each layer. So the signal
    that it sends on the way marks the request, and the mark is read here.
    """

    def __init__(self, get_response: Response) -> None:
        self.get_response = get_response
        got_request_exception.connect(_mark, dispatch_uid="dms_project.outage")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        return refuse(request, DATABASE_AWAY) if getattr(request, "met_outage", False) else response


def _mark(request: HttpRequest | None = None, **kwargs: Any) -> None:
    if request is not None and isinstance(sys.exc_info()[1], OUTAGES):
        request.met_outage = True  # type: ignore[attr-defined]  # ours, read by OutageMiddleware
