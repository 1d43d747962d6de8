"""Errors as pages in the style of the others. They need no database, session or tenant."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

RETRY_AFTER_SECONDS = "5"


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 400, as ``handler400``."""
    return _page(request, 400, _("This request can’t be understood"), _("Go back and try again."))


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 403, as ``handler403``."""
    return _page(request, 403, _("You may not do that"), _("Ask whoever runs this system for the permission."))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Answer 403, as ``CSRF_FAILURE_VIEW``: a form that is too old, or not ours."""
    advice = _("Nothing was changed. Open the page again and repeat what you did; your browser must accept cookies.")
    return _page(request, 403, _("This form has expired"), advice)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer 404, as ``handler404``."""
    return _page(request, 404, _("There is nothing here"), _("The link may be old, or the document is in the trash."))


def gone(request: HttpRequest) -> HttpResponse:
    """Answer 410: the row of a document is there, its original is not."""
    advice = _("It is not in the storage any more. Tell whoever runs this system.")
    return _page(request, 410, _("The original can’t be read"), advice)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 500, as ``handler500``."""
    advice = _("It is our fault, not yours, and it was written down. Try again in a moment.")
    return _page(request, 500, _("Something went wrong"), advice)


def unavailable(request: HttpRequest) -> HttpResponse:
    """Answer 503: the database or the storage can't be reached."""
    advice = _("Nothing was lost. Try again in a moment.")
    response = _page(request, 503, _("The documents can’t be reached just now"), advice)
    response["Retry-After"] = RETRY_AFTER_SECONDS
    return response


def _page(request: HttpRequest, status: int, what: str | Promise, advice: str | Promise) -> HttpResponse:
    # An outer middleware may ask, outside of the one that chose the language; the thread may hold the last request's.
    with translation.override(translation.get_language_from_request(request)):
        context: dict[str, Any] = {"status": status, "what": what, "advice": advice, "home": request.path != "/"}
        return render(request, "documents/error.html", context, status=status)
