"""Answers to requests that get no further than the door: to no tenant, to no database, to no free thread.

They need nothing but the request: no template, static file, session or schema, since none of these can be counted on.
A browser gets a small page, a caller of the API JSON, anybody else a line of text.
"""

import base64
import hashlib
from dataclasses import dataclass

from django.apps import apps
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import mark_safe
from django.utils.translation import gettext, gettext_noop

_STYLE = """
:root { color-scheme: light dark }
body { margin: 0; min-height: 100vh; display: grid; place-content: center; padding: 1.5rem; box-sizing: border-box;
  font: 100%/1.55 system-ui, sans-serif; background: light-dark(#f6f5f1, #15171a); color: light-dark(#1c2024, #e9e9e6) }
main { max-width: 34rem }
h1 { margin: 0 0 .5rem; font-size: 1.6rem; line-height: 1.25; font-weight: 650 }
p { margin: 0; color: light-dark(#5b6067, #a5aab2) }
"""
_PAGE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{what}</title>
<style>{style}</style>
</head>
<body><main><p>{status}</p><h1>{what}</h1><p>{advice}</p></main></body>
</html>
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused: ``what`` and ``advice`` for people in English, ``detail`` and ``code`` for programs."""

    status: int
    what: str
    advice: str
    detail: str
    code: str = ""
    retry_after_seconds: int | None = None


MALFORMED_HOST = Refusal(
    400,
    gettext_noop("This address is malformed"),
    gettext_noop("Check what stands in it before the first slash."),
    "The Host header is malformed.",
)
UNKNOWN_HOST = Refusal(
    404,
    gettext_noop("Nothing is served under this address"),
    gettext_noop("Check how it is written, or ask whoever gave it to you."),
    "Nothing is served under this host name.",
)
NO_SCHEMA = Refusal(
    503,
    gettext_noop("This site is out of service"),
    gettext_noop("Tell whoever runs this system."),
    "This site is out of service.",
    code="out_of_service",
)
SUSPENDED = Refusal(
    503,
    gettext_noop("This site is suspended"),
    gettext_noop("Nothing was lost. Ask whoever runs this system when it is back."),
    "This site is suspended.",
    code="suspended",
)
DATABASE_AWAY = Refusal(
    503,
    gettext_noop("The documents can’t be reached just now"),
    gettext_noop("Nothing was lost. Try again in a moment."),
    "The database can't be reached. Try again.",
    code="database_unavailable",
    retry_after_seconds=5,
)
BUSY = Refusal(
    503,
    gettext_noop("The server is busy just now"),
    gettext_noop("Nothing was lost. Try again in a moment."),
    "All places are taken. Try again.",
    code="busy",
    retry_after_seconds=1,
)


def refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return the answer. Works before Django's apps are loaded, too: then its page is in English."""
    if request.path.startswith("/api/"):
        code = {"code": refusal.code} if refusal.code else {}
        response: HttpResponse = JsonResponse({"detail": refusal.detail} | code, status=refusal.status)
    elif "text/html" in request.headers.get("Accept", ""):
        response = HttpResponse(_page(request, refusal), status=refusal.status)
        response["Content-Security-Policy"] = _POLICY
    else:
        text = "text/plain; charset=utf-8"
        response = HttpResponse(f"{refusal.detail}\n", status=refusal.status, content_type=text)
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    if refusal.retry_after_seconds is not None:
        response["Retry-After"] = str(refusal.retry_after_seconds)
    return response


def _page(request: HttpRequest, refusal: Refusal) -> str:
    language, what, advice = "en", refusal.what, refusal.advice
    if apps.ready:
        language = translation.get_language_from_request(request)
        with translation.override(language):
            what, advice = gettext(what), gettext(advice)
    style = mark_safe(_STYLE)  # noqa: S308 - a constant
    return format_html(_PAGE, language=language, status=refusal.status, what=what, advice=advice, style=style)
