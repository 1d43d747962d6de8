"""Finding the tenant of a request by its host name."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from django.core.exceptions import DisallowedHost
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.request import split_domain_port

from dms_project.refusals import MALFORMED_HOST, NO_SCHEMA, SUSPENDED, UNKNOWN_HOST, refuse
from dms_project.tenancy.context import use
from dms_project.tenancy.hosts import operators_hosts
from dms_project.tenancy.names import PUBLIC

logger = logging.getLogger(__name__)

HOSTLESS_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Served on any host, for probes that know nothing but an address."""

TENANT_OF_REQUEST = "dms.tenant"
"""Where ``request.META`` says as whom a request is served, for the log."""

# Asked for each request, so that a tenant that is suspended or deleted is so at once.
_LOOKUP = """
    SELECT schema_name, EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = schema_name),
           suspended_at IS NOT NULL
    FROM public.tenant_domains JOIN public.tenants ON tenants.id = tenant_id WHERE host = %s
"""


class TenantMiddleware:
    """Serve a request as the tenant to whom its host name leads, or in ``public`` at the operators' host.

    Stands before what serves sessions and static files: a request for an unknown host goes no further, so nothing of a
    tenant is read for it, and it gets no cookie and no file.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in HOSTLESS_PATHS:
            return self._serve(PUBLIC, request)
        try:
            host, _ = split_domain_port(request.get_host())  # lower case, without a trailing dot
        except DisallowedHost:
            host = ""
        if not host or "HTTP_HOST" not in request.META:  # Django would go by the address of the server
            return refuse(request, MALFORMED_HOST)
        if host in operators_hosts():
            return self._serve(PUBLIC, request)
        found = _tenant_of(host)
        if found is None:
            return refuse(request, UNKNOWN_HOST)
        name, has_schema, is_suspended = found
        if is_suspended:
            return refuse(request, SUSPENDED)
        if not has_schema:
            logger.error("Tenant %s has no schema: restore it, or run: manage.py tenant delete %s", name, name)
            return refuse(request, NO_SCHEMA)
        response = self._serve(name, request)
        if response.status_code == 500 and _tenant_of(host) is None:
            return refuse(request, UNKNOWN_HOST)  # the tenant was deleted meanwhile
        return response

    def _serve(self, name: str, request: HttpRequest) -> HttpResponse:
        request.META[TENANT_OF_REQUEST] = name
        with use(name):
            response = self.get_response(request)
        if isinstance(response, StreamingHttpResponse):
            _stream_as(name, response)
        return response


def _tenant_of(host: str) -> tuple[str, bool, bool] | None:
    """Return the name of the tenant to whom a host leads, whether it has a schema, and whether it is suspended."""
    with use(PUBLIC), connection.cursor() as cursor:
        cursor.execute(_LOOKUP, [host])
        found: tuple[str, bool, bool] | None = cursor.fetchone()
    return found


def _stream_as(name: str, response: StreamingHttpResponse) -> None:
    """Have each chunk computed as the tenant; between two of them the thread may serve somebody else."""
    if getattr(response, "file_to_stream", None) is not None:
        return  # the web server sends the file itself
    chunks: Any = response.streaming_content

    def step_by_step() -> Iterator[bytes]:
        while True:
            with use(name):
                try:
                    chunk = next(chunks)
                except StopIteration:
                    return
            yield chunk

    async def step_by_step_async() -> AsyncIterator[bytes]:
        while True:
            with use(name):
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
            yield chunk

    response.streaming_content = step_by_step_async() if response.is_async else step_by_step()
