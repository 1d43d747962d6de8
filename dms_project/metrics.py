"""``/metrics``: how many jobs wait, run and died, for Prometheus; docs/reference/metrics.md lists the names.

Every value is read from the database when it is asked for, so any web process gives the same answer, and none counts
for itself alone.
"""

import hmac
import ipaddress
import logging
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from dms_project.bounded_check import BoundedCheck
from dms_project.operators.exposition import database, lines
from dms_project.operators.fleet_counts import FleetCounts
from dms_project.tenancy.exceptions import reason

logger = logging.getLogger(__name__)

METRICS = "/metrics"
DEADLINE_SECONDS = 1.5  # for the answer, whatever hangs
READING_SECONDS = 0.3  # for looking into tenants, in one answer

# What a proxy on this machine passes on comes from loopback, too, whoever sent it.
_OF_PROXIES = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip")


class MetricsMiddleware:
    """Answer before hosts, tenants, sessions and https: to this machine, or to whoever has the token."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path != METRICS:
            return self.get_response(request)
        if not _may_read(request):
            text = "The metrics are for this machine, and for bearers of DMS_METRICS_TOKEN.\n"
            return HttpResponse(text, status=401, content_type="text/plain", headers={"WWW-Authenticate": "Bearer"})
        version = "text/plain; version=0.0.4; charset=utf-8"
        return HttpResponse(_answer(), content_type=version, headers={"Cache-Control": "no-store"})


def _may_read(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme:
        wanted = settings.DMS_METRICS_TOKEN or ""
        return wanted != "" and scheme.lower() == "bearer" and hmac.compare_digest(token.encode(), wanted.encode())
    if any(name in request.headers for name in (*_OF_PROXIES, settings.DMS_CLIENT_ADDRESS_HEADER)):
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a socket in a folder
        return False


_fleet = FleetCounts()


def _read() -> str:
    _fleet.refresh(READING_SECONDS)
    return "".join(f"{line}\n" for line in lines(_fleet))


def _say(error: Exception) -> None:
    logger.warning("no metrics: %s", reason(error))


_DOWN = "".join(f"{line}\n" for line in database(up=False))
_reading = BoundedCheck("metrics", _read, _say, otherwise=_DOWN)


def _answer() -> str:
    _reading.begin()
    return _reading.answer(time.monotonic() + DEADLINE_SECONDS)
