"""gunicorn's log as part of ours: a line per request, in the same form as every other."""

import logging
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from gunicorn.glogging import Logger

from dms_project.logs import configure, request_id
from dms_project.tenancy.middleware import HOSTLESS_PATHS, TENANT_OF_REQUEST

logger = logging.getLogger(__name__)

_HOST_MAX_LENGTH = 255


class AccessLog(Logger):  # type: ignore[misc]  # gunicorn brings no types
    """What ``logger_class`` names. Queries and headers, which may hold a search or a token, are never logged."""

    access_log_enabled = True

    def setup(self, cfg: Any) -> None:
        """Leave everything to ``settings.LOGGING``, instead of handlers and levels of gunicorn's own."""
        self.cfg = cfg
        self.error_log.propagate = True
        configure(settings.LOGGING)

    def access(self, resp: Any, req: Any, environ: dict[str, Any], request_time: timedelta) -> None:
        """Log a request when its answer has been sent, or its client has gone. Probes that are well only at DEBUG."""
        status = int(str(resp.status).split(None, 1)[0])
        path = environ.get("PATH_INFO", "").encode("latin-1", "replace").decode(errors="replace")
        is_quiet = path in HOSTLESS_PATHS and status == 200
        fields = {
            "event": "request",
            "host": environ.get("HTTP_HOST", "-")[:_HOST_MAX_LENGTH],
            "method": environ.get("REQUEST_METHOD"),
            "path": path,
            "status_code": status,
            "bytes": resp.sent,
            "seconds": round(request_time.total_seconds(), 3),
        }
        if TENANT_OF_REQUEST in environ:
            fields["tenant"] = environ[TENANT_OF_REQUEST]
        logger.log(
            logging.DEBUG if is_quiet else logging.INFO,
            '%(host)s "%(method)s %(path)s" %(status_code)s %(bytes)s bytes in %(seconds).3f s',
            fields,
            extra=fields,
        )
        request_id.set("")

    def warning(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Say of a request that is no HTTP what is wrong, but not the line in question, which gunicorn would quote."""
        before, found, _ = msg.partition(": ")
        if found and before.startswith("Invalid request from ip="):
            msg, args = "%s: %s", (before, type(sys.exc_info()[1]).__name__)
        super().warning(msg, *args, **kwargs)

    def exception(self, msg: str, *args: Any, **kwargs: Any) -> None:
        """Leave the query out where gunicorn names an address."""
        super().exception(msg, *(str(arg).partition("?")[0] for arg in args), **kwargs)
