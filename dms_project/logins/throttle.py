"""A limit on guessing passwords, for every login form of a host: the pages' and the admin's.

Failures are counted in Django's cache, whose keys carry the tenant: by user name and address, and by address alone. A
count begins with the first failure and ends ``WINDOW`` later, whatever comes meanwhile, so nobody is locked out for
longer than that, and somebody else at another address isn't at all. With the cache of this project each web process
counts for itself.
"""

import hashlib
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import IPv6Address, ip_address
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.dispatch import receiver
from django.http import HttpRequest

WINDOW = timedelta(minutes=5)
FAILURES_PER_NAME = 5
FAILURES_PER_ADDRESS = 50


class Throttle:
    """Stands before the backends that check a password, and refuses while there were too many failures.

    Not a ``BaseBackend``: it knows no users, and Django takes the first backend that says it does.
    """

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:
        if request is not None and is_throttled(request, credentials.get("username") or ""):
            raise PermissionDenied


def is_throttled(request: HttpRequest, username: str) -> bool:
    """Say whether a login under this name is refused for now, whatever the password."""
    limit_of = dict(_counters(request, username))
    return any(count >= limit_of[key] for key, count in cache.get_many(limit_of).items())


def client_address(request: HttpRequest) -> str:
    """Return who is asking: an IPv4 address, or the /64 in which an IPv6 host may choose as it likes.

    It is the peer of the connection, or what the proxy in front says in the header that ``DMS_CLIENT_ADDRESS_HEADER``
    names.
    """
    header = settings.DMS_CLIENT_ADDRESS_HEADER
    text = request.headers.get(header, "") if header else request.META.get("REMOTE_ADDR", "")
    try:
        address = ip_address(text.strip())
    except ValueError:
        return "unknown"
    return address.exploded[:19] if isinstance(address, IPv6Address) else str(address)


@receiver(user_login_failed, dispatch_uid="dms_project.logins")
def count_failure(credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any) -> None:
    """Count a failed login, unless it was made in code."""
    if request is None:
        return
    for key, _limit in _counters(request, credentials.get("username") or ""):
        cache.add(key, 0, WINDOW.total_seconds())
        try:
            cache.incr(key)
        except ValueError:  # it ended in between
            cache.add(key, 1, WINDOW.total_seconds())


@receiver(user_logged_in, dispatch_uid="dms_project.logins")
def forget_failures(request: HttpRequest | None = None, user: Any = None, **kwargs: Any) -> None:
    """Forget the failures of somebody who has now got it right."""
    if request is not None:
        by_name, _limit = next(_counters(request, user.get_username()))
        cache.delete(by_name)


def _counters(request: HttpRequest, username: str) -> Iterator[tuple[str, int]]:
    address = client_address(request)
    name = hashlib.sha256(username.casefold().encode()).hexdigest()
    yield f"login-failures:{address}:{name}", FAILURES_PER_NAME
    yield f"login-failures:{address}", FAILURES_PER_ADDRESS
