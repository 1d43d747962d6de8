"""Finding the tenant of a request by its host name."""

import logging
from collections.abc import Callable, Iterable, Iterator

from django.core.exceptions import DisallowedHost
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.http.response import HttpResponseBase, StreamingHttpResponse

from dms_project.tenancy.context import PUBLIC, use
from dms_project.tenancy.hosts import operators_hosts

logger = logging.getLogger(__name__)

HOSTLESS_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Answered on any host, for probes that know nothing but an address."""

# Without a cache, so that a tenant that is deleted is gone at once.
_LOOKUP = """
    SELECT tenant.schema_name, EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = tenant.schema_name)
    FROM public.tenant_domains domain JOIN public.tenants tenant ON tenant.id = domain.tenant_id
    WHERE domain.host = %s
"""


class TenantMiddleware:
    """Serve a request as the tenant whose domain the host name is; the operators' host is served in ``public``.

    Stands before the session middleware: an unknown host goes no further, nothing of a tenant is read for it, and it
    gets no cookie.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in HOSTLESS_PATHS:
            return self._serve(PUBLIC, request)
        try:
            host, _ = split_domain_port(request.get_host())  # in lower case, without a trailing dot
        except DisallowedHost:
            return _refuse(400, "The Host header is malformed.")
        if host in operators_hosts():
            return self._serve(PUBLIC, request)
        with use(PUBLIC), connection.cursor() as cursor:
            cursor.execute(_LOOKUP, [host])
            found = cursor.fetchone()
        if found is None:
            return _refuse(404, "Nothing is served under this host name.")
        name, has_schema = found
        if not has_schema:
            logger.error("Tenant %s has no schema: restore it, or run: manage.py tenant delete %s", name, name)
            return _refuse(503, "This site is not available.")
        return self._serve(name, request)

    def _serve(self, name: str, request: HttpRequest) -> HttpResponseBase:
        with use(name):
            response = self.get_response(request)
        # A file is sent by the server without us, and asks nobody's database.
        if isinstance(response, StreamingHttpResponse) and getattr(response, "file_to_stream", None) is None:
            response.streaming_content = _each_in(name, response.streaming_content)
        return response


def _each_in(name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Compute each chunk as the tenant; between chunks other requests may run in this thread."""
    iterator = iter(chunks)
    while True:
        with use(name):
            try:
                chunk = next(iterator)
            except StopIteration:
                return
        yield chunk


def _refuse(status: int, reason: str) -> HttpResponse:
    return HttpResponse(f"{reason}\n", status=status, content_type="text/plain; charset=utf-8")
