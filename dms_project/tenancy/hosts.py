"""Host names that lead to no tenant."""

from django.conf import settings


def operators_hosts() -> tuple[str, ...]:
    """Return the hosts that serve ``public``, for the people who run the system."""
    name = getattr(settings, "DMS_OPERATORS_HOST", "localhost").lower()
    # The address only on a machine of one's own: behind a proxy it would be a second, unguarded name.
    return (name, "127.0.0.1") if name == "localhost" else (name,)
