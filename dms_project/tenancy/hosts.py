"""Host names that lead to no tenant."""

from django.conf import settings


def operators_hosts() -> tuple[str, ...]:
    """Return the hosts that serve ``public``, for the people who run the system."""
    return (getattr(settings, "DMS_OPERATORS_HOST", "localhost"), "127.0.0.1")
