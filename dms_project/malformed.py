"""Cookies and queries that Django would stumble over: put right where that is harmless, else answered 400."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse


class MalformedMiddleware:
    """Stands before everything that reads the query or the cookies."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # A cookie's octal escapes can hold a NUL, which no session's key has and PostgreSQL refuses.
        request.COOKIES = {name: value for name, value in request.COOKIES.items() if "\0" not in value}
        if request.path.startswith("/admin/") and "%00" in request.META.get("QUERY_STRING", ""):
            return HttpResponse("The address contains a NUL.\n", status=400, content_type="text/plain; charset=utf-8")
        return self.get_response(request)
