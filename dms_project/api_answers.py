"""What holds for every answer below ``/api/``, whoever made it: errors are JSON, and nobody keeps what was told.

What reaches no call (an unknown path, a method that a path doesn't take) and what a call has no words for is answered
by Django, for people. Here such an answer keeps its status and its headers and gets the body that programs expect.
"""

import json
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

JSON = "application/json"
_DETAILS = {
    400: "The request can't be understood.",
    403: "You may not do that.",
    404: "There is no such call. All calls are listed at /api/docs.",
    412: "The document is not what the request takes it for.",
    416: "The file has no such part.",
    500: "Something went wrong. It is our fault, not yours, and it was written down.",
}


class ApiAnswersMiddleware:
    """Stands outside of all that may answer with an error."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            response.headers.setdefault("Cache-Control", "private, no-store")
            if response.status_code >= 400 and not response.get("Content-Type", "").startswith(JSON):
                response.content = json.dumps({"detail": _detail(request, response)})
                response["Content-Type"] = JSON
                response["Content-Length"] = str(len(response.content))
        return response


def _detail(request: HttpRequest, response: HttpResponse) -> str:
    if response.status_code == 405:
        return f"{request.method} is not possible here, only {response['Allow']}."
    return _DETAILS.get(response.status_code, f"{response.reason_phrase}.")
