"""The one HTTP API: authentication, errors as JSON, and the routers of the apps."""

import logging

from django.db import Error
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError

from dms_project.outage import OUTAGES, first_line
from dms_project.tenancy import PUBLIC, current
from dms_project.tokens.authentication import BearerToken, Session
from documents.api import jobs_router, router

logger = logging.getLogger(__name__)


def in_a_tenant(request: HttpRequest) -> None:
    """Authenticate nobody; stands before those who do, since the operators' schema has no documents."""
    if current() == PUBLIC:
        raise HttpError(404, "There are no documents at the operators' host. Use a tenant's.")


api = NinjaAPI(title="Documents", version="1", docs_url="/docs", auth=[in_a_tenant, BearerToken(), Session()])
api.add_router("/documents", router)
api.add_router("/jobs", jobs_router)


def database_is_down(request: HttpRequest, exc: Error | type[Error]) -> HttpResponse:
    logger.warning("503 %s %s: database: %s", request.method, request.path, first_line(exc))
    return api.create_response(request, {"detail": "The database can't be reached. Try again."}, status=503)


for outage in OUTAGES:
    api.add_exception_handler(outage, database_is_down)
