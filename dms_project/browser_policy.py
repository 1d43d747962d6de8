"""What a browser may do with our answers: Content-Security-Policy and its relatives, on each of them.

Django 6.0 has a middleware for the policy; this one also works on 5.2, knows the three parts of the site, and leaves
alone what has a policy of its own: downloads, which are shut in a sandbox.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

_SHUT = "base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
PAGES = f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; {_SHUT}"
# Django's own files: no inline script, but widgets with inline pictures.
ADMIN = f"default-src 'self'; img-src 'self' data:; object-src 'none'; {_SHUT}"
# Swagger UI sets styles as it draws.
API_DOCS = f"default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; {_SHUT}"

_OTHERS = {
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class BrowserPolicyMiddleware:
    """Add the headers that an answer doesn't have."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not (settings.DEBUG and response.status_code >= 400 and _is_djangos_debug_page(response)):
            response.headers.setdefault("Content-Security-Policy", _policy(request.path))
        for name, value in _OTHERS.items():
            response.headers.setdefault(name, value)
        return response


def _policy(path: str) -> str:
    if path.startswith("/admin/"):
        return ADMIN
    return API_DOCS if path == "/api/docs" else PAGES


def _is_djangos_debug_page(response: HttpResponse) -> bool:
    """Its styles and scripts stand in the page. It never leaves a developer's machine."""
    return not response.streaming and b"DEBUG = True" in response.content
