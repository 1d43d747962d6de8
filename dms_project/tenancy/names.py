"""The rules for tenants' names and host names, for models, commands, forms and the database alike."""

import re
from collections.abc import Sequence

from django.core.exceptions import ValidationError

PUBLIC = "public"
EXTENSIONS = "extensions"
RESERVED = (PUBLIC, EXTENSIONS, "information_schema")
NAME_PATTERN = r"^[a-z][a-z0-9_]{0,62}$"  # 63 bytes: PostgreSQL cuts a longer identifier off, silently
HOST_PATTERN = r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
HOST_MAX_LENGTH = 253


def is_tenant_name(name: str) -> bool:
    """Say whether a tenant may have this name, which is its schema's name too."""
    # fullmatch: "$" alone would let a trailing newline pass.
    return bool(re.fullmatch(NAME_PATTERN, name)) and name not in RESERVED and not name.startswith("pg_")


def validate_name(name: str) -> None:
    """Raise ``ValidationError`` unless a tenant may have this name."""
    if not re.fullmatch(NAME_PATTERN, name):
        raise ValidationError(
            "%(name)r can't be a tenant's name: use 1 to 63 of a-z, 0-9 and _, beginning with a letter.",
            code="invalid_name",
            params={"name": name},
        )
    if not is_tenant_name(name):
        raise ValidationError(
            "%(name)r is reserved in PostgreSQL or here: choose another name.",
            code="reserved_name",
            params={"name": name},
        )


def normalise_host(host: str) -> str:
    """Return a host name as requests are matched: lower case, no port, no trailing dot, IDN as punycode.

    Raises:
        ValidationError: It is no host name.
    """
    name, _, port = host.strip().partition(":")
    try:
        # Without its labels' limits here: the pattern checks them, and the codec's messages help nobody.
        normal = name.removesuffix(".").encode("idna").decode("ascii").lower()
    except UnicodeError:
        normal = ""
    if len(normal) > HOST_MAX_LENGTH or not re.fullmatch(HOST_PATTERN, normal) or (port and not port.isdecimal()):
        raise ValidationError("%(host)r is not a host name.", code="invalid_host", params={"host": host})
    return normal


def validate_host(host: str) -> None:
    """Raise ``ValidationError`` unless this is a host name in its normal form."""
    if normalise_host(host) != host:
        raise ValidationError(
            "%(host)r must be written as %(normal)r.",
            code="host_not_normal",
            params={"host": host, "normal": normalise_host(host)},
        )


def listed(names: Sequence[str], limit: int = 20) -> str:
    """Return names as people read them, a long list cut off."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return ", ".join(names) or "none"
