"""The one HTTP API: authentication, errors as JSON, and the routers of the apps."""

import logging
from importlib.util import find_spec

from django.db import Error
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI

from dms_project.outage import OUTAGES, first_line
from dms_project.tokens.authentication import BearerToken, Session

logger = logging.getLogger(__name__)

api = NinjaAPI(
    title="Documents",
    version="1",
    auth=[BearerToken(), Session()],
    docs_url="/docs",
)
if find_spec("documents.api"):  # until it is written
    from documents.api import jobs_router, router

    api.add_router("/documents", router)
    api.add_router("/jobs", jobs_router)


def database_is_down(request: HttpRequest, exc: Error | type[Error]) -> HttpResponse:
    logger.warning("503 %s %s: database: %s", request.method, request.path, first_line(exc))
    return api.create_response(request, {"detail": "The database can't be reached. Try again."}, status=503)


for outage in OUTAGES:
    api.add_exception_handler(outage, database_is_down)
