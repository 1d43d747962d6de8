"""Who is calling the API: a bearer token, or a browser's session with its CSRF token."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.errors import AuthenticationError
from ninja.security import HttpBearer, SessionAuth

from dms_project.tokens.models import ApiToken


class BearerToken(HttpBearer):
    """``Authorization: Bearer dms_...``. A wrong token is refused, even beside a good session."""

    def __call__(self, request: HttpRequest) -> User | None:
        # Not the parent's: it writes a header that it can't read into the log.
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != self.openapi_scheme:
            return None
        return self.authenticate(request, token.strip())

    def authenticate(self, request: HttpRequest, token: str) -> User:
        user = ApiToken.objects.owner(token)
        if user is None:
            raise AuthenticationError(message="This token is unknown here, revoked, or its user is inactive.")
        request.user = user
        return user


class Session(SessionAuth):
    """A logged-in browser. CSRF is checked only then, so that a caller without any login gets 401, not 403."""

    def __call__(self, request: HttpRequest) -> Any | None:
        return super().__call__(request) if request.user.is_authenticated else None
