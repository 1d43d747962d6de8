"""The one HTTP API: authentication, errors as JSON, and the routers of the apps."""

import logging
from typing import Any, NoReturn, cast

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousMultipartForm, TooManyFieldsSent, TooManyFilesSent
from django.db import Error
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.multipartparser import MultiPartParserError
from ninja.errors import AuthenticationError, HttpError, ValidationError

from dms_project.logs import OUTAGES
from dms_project.openapi import Documentation, DocumentedAPI
from dms_project.refusals import DATABASE_AWAY, refuse
from dms_project.tenancy import PUBLIC, current
from dms_project.tenancy.exceptions import reason
from dms_project.tokens.authentication import BearerToken, Session
from documents.api import answer_problem, jobs_router, labels_router, router, searches_router
from documents.exceptions import DocumentsError
from documents.resumable_api import router as uploads_router

logger = logging.getLogger(__name__)


def in_a_tenant(request: HttpRequest) -> None:
    """Authenticate nobody; stands before those who do, since the operators' schema has no documents."""
    if current() == PUBLIC:
        raise HttpError(404, "There are no documents at the operators' host. Use a tenant's.")


api = DocumentedAPI(
    title="Documents",
    version="1",
    docs=Documentation(),
    docs_url="/docs",
    auth=[in_a_tenant, BearerToken(), Session()],
)
api.add_router("/documents", router)
api.add_router("", labels_router)
api.add_router("/searches", searches_router)
api.add_router("/jobs", jobs_router)
api.add_router("/uploads", uploads_router)


def database_is_down(request: HttpRequest, exc: Error | type[Error]) -> HttpResponse:
    logger.warning("503 %s %s: database: %s", request.method, request.path, reason(exc))
    return refuse(request, DATABASE_AWAY)


def body_is_malformed(request: HttpRequest, exc: Exception | type[Exception]) -> HttpResponse:
    return api.create_response(request, {"detail": f"The body is not what its type says: {exc}"}, status=400)


def too_many_parts(request: HttpRequest, exc: Exception | type[Exception]) -> HttpResponse:
    detail = (
        f"A request may have {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS} fields "
        f"and {settings.DATA_UPLOAD_MAX_NUMBER_FILES} files at most."
    )
    return api.create_response(request, {"detail": detail}, status=400)


def fields_are_too_large(request: HttpRequest, exc: Exception | type[Exception]) -> HttpResponse:
    detail = f"Beside a file a body may have {settings.DATA_UPLOAD_MAX_MEMORY_SIZE} bytes at most."
    return api.create_response(request, {"detail": detail}, status=413)


def values_are_invalid(request: HttpRequest, exc: ValidationError | type[ValidationError]) -> HttpResponse:
    errors = cast(ValidationError, exc).errors
    return api.create_response(request, {"detail": [_in_plain_words(error) for error in errors]}, status=422)


def _in_plain_words(error: dict[str, Any]) -> dict[str, Any]:
    """Django drops a file whose name it can't read, without a word: then "Field required" would puzzle its sender."""
    is_a_file = error["type"] == "missing" and error["loc"][0] == "file"
    return error | {"msg": "Send a file in the field `file`, with a file name in UTF-8."} if is_a_file else error


def login_is_missing(request: HttpRequest, exc: AuthenticationError | type[AuthenticationError]) -> HttpResponse:
    response = api.create_response(request, {"detail": str(exc)}, status=401)
    response["WWW-Authenticate"] = "Bearer"
    return response


def leave_to_django(request: HttpRequest, exc: Exception | type[Exception]) -> NoReturn:
    """Have an error that is ours written down and answered as everywhere, also where DEBUG is on."""
    raise exc


for malformed in (MultiPartParserError, SuspiciousMultipartForm, UnreadablePostError):
    api.add_exception_handler(malformed, body_is_malformed)
for too_many in (TooManyFieldsSent, TooManyFilesSent):
    api.add_exception_handler(too_many, too_many_parts)
api.add_exception_handler(RequestDataTooBig, fields_are_too_large)
api.add_exception_handler(ValidationError, values_are_invalid)
api.add_exception_handler(AuthenticationError, login_is_missing)
api.add_exception_handler(Exception, leave_to_django)
api.add_exception_handler(DocumentsError, answer_problem)
for outage in OUTAGES:
    api.add_exception_handler(outage, database_is_down)
